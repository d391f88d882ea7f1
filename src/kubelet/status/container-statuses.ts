/**
 * API container statuses from the runtime's status, the previous status and the failures of starts. Pure. Upstream:
 * convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go.
 */
import type {
  Container,
  ContainerState,
  ContainerStatus,
  EphemeralContainer,
  Pod,
  ResourceStatus,
} from '../../api/gen/core-v1.ts';
import { firstByName } from '../../base/first-by.ts';
import { formatTime } from '../../api/time.ts';
import { findContainerStatusByName, shouldContainerBeRestarted } from '../container/helpers.ts';
import type { ContainerStatus as RuntimeContainerStatus, PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import { ownResources, resourcesInForce, type ContainerResources } from '../allocation/resources.ts';
import type { StartReason } from './reason-cache.ts';

export interface ContainerStatusesInput {
  readonly pod: Pod;
  readonly runtimeStatus: RuntimePodStatus;
  readonly previous: readonly ContainerStatus[];
  readonly containers: readonly (Container | EphemeralContainer)[];
  readonly kind: 'container' | 'init' | 'ephemeral';
  /** Scheme of container ids: `containerd`. */
  readonly runtimeName: string;
  readonly startReason: (containerName: string) => StartReason | undefined;
  /** The health of a container's devices. */
  readonly resourceHealth?: ((containerName: string) => ResourceStatus[] | undefined) | undefined;
  /** The resources that a container was last configured with. */
  readonly actuated?: ((status: RuntimeContainerStatus) => ContainerResources | undefined) | undefined;
}

/** The message for a container that vanished. */
export const STATUS_UNKNOWN_REASON = 'ContainerStatusUnknown';

/** Statuses in the order of the spec. */
export function generateContainerStatuses(input: ContainerStatusesInput): ContainerStatus[] {
  const previous = firstByName(input.previous);
  const seen = Map.groupBy(input.runtimeStatus.containers, ({ name }) => name);
  return input.containers.map((container) => {
    const { name } = container;
    return statusOf(container, { input, previous: previous.get(name), seen: seen.get(name) ?? [] });
  });
}

/** The runtime's statuses of one container, newest first. */
interface KnownContainer {
  readonly input: ContainerStatusesInput;
  readonly previous: ContainerStatus | undefined;
  readonly seen: readonly RuntimeContainerStatus[];
}

function statusOf(
  container: Container | EphemeralContainer,
  { input, previous, seen }: KnownContainer,
): ContainerStatus {
  const newest = seen[0];
  let status = newest === undefined ? statusOfMissing(container, previous, input) : convert(newest, previous, input);
  if (newest !== undefined) {
    const before = seen[1] === undefined ? previous?.lastState : convert(seen[1], undefined, input).state;
    if (before !== undefined) status = { ...status, lastState: before };
  }
  status = withResources(container, status, newest === undefined ? undefined : input.actuated?.(newest));
  const health = input.resourceHealth?.(container.name);
  if (health !== undefined) status = { ...status, allocatedResourcesStatus: health };
  return withStartReason(container, status, input);
}

function statusOfMissing(
  container: Container | EphemeralContainer,
  previous: ContainerStatus | undefined,
  input: ContainerStatusesInput,
): ContainerStatus {
  if (previous?.state?.terminated !== undefined) return previous;
  // Also for init containers: clients show `Init:0/1` only for these reasons, and any other reason in its place.
  const initializing = (input.pod.spec?.initContainers ?? []).length > 0;
  const status: ContainerStatus = {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    state: { waiting: { reason: initializing ? 'PodInitializing' : 'ContainerCreating' } },
    lastState: previous?.lastState ?? {},
    ready: false,
    restartCount: previous?.restartCount ?? 0,
    ...notStarted(input),
  };
  if (previous?.state?.running === undefined || status.lastState?.terminated !== undefined) return status;
  // The container has run and the runtime does not have it any more: it must not look like one that never started.
  return {
    ...status,
    lastState: {
      terminated: {
        reason: STATUS_UNKNOWN_REASON,
        message: 'The container could not be located when the pod was deleted.  The container used to be Running',
        exitCode: 137,
      },
    },
    restartCount: status.restartCount + (input.pod.metadata.deletionTimestamp === undefined ? 1 : 0),
  };
}

function timeField<K extends string>(name: K, timeMs: number): Partial<Record<K, string>> {
  return timeMs > 0 ? ({ [name]: formatTime(timeMs) } as Partial<Record<K, string>>) : {};
}

function stateOf(
  seen: RuntimeContainerStatus,
  previous: ContainerStatus | undefined,
  containerID: string,
): ContainerState {
  switch (seen.state) {
    case 'running':
      return { running: timeField('startedAt', seen.startedAtMs) };
    case 'created':
      return { waiting: {} };
    case 'exited':
      return {
        terminated: {
          containerID,
          exitCode: seen.exitCode,
          ...timeField('finishedAt', seen.finishedAtMs),
          ...(seen.message === '' ? {} : { message: seen.message }),
          ...(seen.reason === '' ? {} : { reason: seen.reason }),
          ...timeField('startedAt', seen.startedAtMs),
        },
      };
    case 'unknown':
      if (previous?.state?.running === undefined) return { waiting: {} };
      return {
        terminated: {
          reason: STATUS_UNKNOWN_REASON,
          message: 'The container could not be located when the pod was terminated',
          exitCode: 137,
        },
      };
  }
}

/** The prober sets it to true. Ephemeral containers have no probes, and no such field. */
function notStarted({ kind }: ContainerStatusesInput): Pick<ContainerStatus, 'started'> {
  return kind === 'ephemeral' ? {} : { started: false };
}

function convert(
  seen: RuntimeContainerStatus,
  previous: ContainerStatus | undefined,
  input: ContainerStatusesInput,
): ContainerStatus {
  const containerID = `${input.runtimeName}://${seen.id}`;
  const status: ContainerStatus = {
    containerID,
    image: seen.image,
    imageID: seen.imageRef === '' ? seen.imageId : seen.imageRef,
    lastState: {},
    name: seen.name,
    ready: false,
    restartCount: seen.restartCount,
    ...notStarted(input),
    state: stateOf(seen, previous, containerID),
  };
  if (previous?.volumeMounts !== undefined) status.volumeMounts = previous.volumeMounts;
  if (seen.user !== undefined) {
    const { uid, gid, supplementalGroups } = seen.user;
    status.user = { linux: { uid, gid, supplementalGroups: [...supplementalGroups] } };
  }
  return status;
}

/** The actual requests and limits, which differ from the allocated ones during a resize. */
function withResources(
  container: Container | EphemeralContainer,
  status: ContainerStatus,
  actual: ContainerResources | undefined,
): ContainerStatus {
  const allocated = container.resources;
  if (status.state?.running === undefined || allocated === undefined) return status;
  const resources = actual === undefined ? allocated : resourcesInForce(allocated, ownResources(container, actual));
  return {
    ...status,
    ...(allocated.requests === undefined ? {} : { allocatedResources: allocated.requests }),
    resources,
  };
}

/** The waiting reason of a container that will be started again. */
function withStartReason(
  container: Container | EphemeralContainer,
  status: ContainerStatus,
  input: ContainerStatusesInput,
): ContainerStatus {
  if (input.kind === 'init') {
    const newest = findContainerStatusByName(input.runtimeStatus, container.name);
    if (newest?.state === 'exited' && newest.exitCode === 0) return status;
  }
  if (!shouldContainerBeRestarted(container, input.pod, input.runtimeStatus)) return status;
  const why = input.startReason(container.name);
  if (why === undefined) return status;
  const waiting = { ...(why.message === '' ? {} : { message: why.message }), reason: why.reason };
  const lastState = status.state?.terminated === undefined ? status.lastState : { terminated: status.state.terminated };
  return { ...status, ...(lastState === undefined ? {} : { lastState }), state: { waiting } };
}
