/**
 * Decides on changed resources of running pods: a change that fits is allocated and then carried out, one that does not
 * fit now is deferred, one that can never fit here is infeasible. Upstream: pkg/kubelet/allocation/allocation_manager.go.
 */
import type { Node, Pod, PodCondition } from '../../api/gen/core-v1.ts';
import { addAmounts, amountsOf, emptyAmounts, podRequests } from '../../component-helpers/pod-resources.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { ContainerStatus, PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import { isStaticPod, podUid } from '../types/pod-update.ts';
import type { AllocationState } from './allocation-state.ts';
import { resizeMessage } from './resize-message.ts';
import { withFoundResources } from './resources-found.ts';
import {
  changedResources,
  resizableContainers,
  resourcesInPod,
  resourcesToKeep,
  withContainerResources,
  withPodLevelResources,
  type ContainerResources,
} from './resources.ts';

/** What the manager needs. */
export interface AllocationDeps {
  readonly state: AllocationState;
  readonly recorder: KubeletEventRecorder;
  readonly node: () => Node | undefined;
  /** Pods that hold resources. */
  readonly activePods: () => readonly Pod[];
  /** Why nothing of the pod can change here; undefined when it can. */
  readonly infeasible?: (pod: Pod) => string | undefined;
  /** Why no pod's memory can change here; undefined when it can. */
  readonly memoryInfeasible?: string;
}

export interface AllocationManager {
  /** The pod with what it has been given, which is what everything on the node works with. */
  allocatedPod(pod: Pod): Pod;
  /** The same after deciding on a change of its spec. */
  resolve(pod: Pod, seen: RuntimePodStatus): Promise<Pod>;
  /** What a container has been given last. */
  actuated(status: ContainerStatus): ContainerResources | undefined;
  /** What the pod as a whole has been given last; undefined: that is not known, and nothing is changed. */
  actuatedPod(uid: string): ContainerResources | undefined;
  /** The pod as a whole was given other resources. */
  noteActuatedPod(uid: string, resources: ContainerResources): Promise<void>;
  /** A running container was given other resources. */
  noteActuated(uid: string, containerId: string, resources: ContainerResources): Promise<void>;
  /** A change could not be carried out, or now could: the message is undefined. */
  noteFailure(pod: Pod, message: string | undefined): void;
  /** Whether nothing of a resize is left to be done for the pod. */
  isSettled(uid: string): boolean;
  /** All of a resize was done. */
  noteSettled(uid: string): Promise<void>;
  /** PodResizePending and PodResizeInProgress where they apply. */
  conditions(pod: Pod, seen: RuntimePodStatus): PodCondition[];
  /** Whether a change of this pod waits for room. */
  isDeferred(uid: string): boolean;
  forget(uid: string): Promise<void>;
}

interface Pending {
  readonly reason: 'Deferred' | 'Infeasible';
  readonly message: string;
}

export function createAllocationManager(deps: AllocationDeps): AllocationManager {
  const { state, recorder } = deps;
  const pending = new Map<string, Pending>();
  const failures = new Map<string, string>();
  const inProgress = new Set<string>();
  /** Pods seen to have no resources as a whole: what they have later is a change, of which their containers may tell nothing. */
  const withoutOwn = new Set<string>();

  const actuated = (status: ContainerStatus): ContainerResources | undefined =>
    state.actuated(status.id) ?? status.madeWith;

  const allocatedPod = (pod: Pod): Pod => {
    const allocated = state.allocated(podUid(pod));
    if (allocated === undefined) return pod;
    return withPodLevelResources(withContainerResources(pod, allocated), state.allocatedPod(podUid(pod)));
  };

  const actuatedPod = (uid: string): ContainerResources | undefined =>
    state.allocated(uid) === undefined ? undefined : (state.actuatedPod(uid) ?? {});

  /** What the pod has when nothing is kept of it: it never changed, or did while no kubelet ran, or the memory was lost. */
  function withActuated(pod: Pod, seen: RuntimePodStatus): Pod {
    const given = withFoundResources(pod, (name) => {
      const status = seen.containers.find((candidate) => candidate.name === name);
      return status?.state === 'running' ? actuated(status) : undefined;
    });
    return withoutOwn.has(podUid(pod)) ? withPodLevelResources(given, undefined) : given;
  }

  function verdict(pod: Pod): Pending | undefined {
    if (isStaticPod(pod)) return { reason: 'Infeasible', message: 'In-place resize of static-pods is not supported' };
    const allocatable = deps.node()?.status?.allocatable;
    if (allocatable === undefined) return undefined;
    const capacity = amountsOf(allocatable);
    const wanted = podRequests(withoutStatus(pod)).requests;
    for (const [name, key] of [
      ['cpu', 'milliCpu'],
      ['memory', 'memoryBytes'],
    ] as const) {
      if (wanted[key] > capacity[key])
        return {
          reason: 'Infeasible',
          message: `Node didn't have enough capacity: ${name}, requested: ${wanted[key]}, capacity: ${capacity[key]}`,
        };
    }
    const used = emptyAmounts();
    for (const other of deps.activePods())
      if (podUid(other) !== podUid(pod)) addAmounts(used, podRequests(withoutStatus(allocatedPod(other))).requests);
    for (const [name, key] of [
      ['cpu', 'milliCpu'],
      ['memory', 'memoryBytes'],
    ] as const) {
      if (wanted[key] > capacity[key] - used[key])
        return {
          reason: 'Deferred',
          message: `Node didn't have enough resource: ${name}, requested: ${wanted[key]}, used: ${used[key]}, capacity: ${capacity[key]}`,
        };
    }
    return undefined;
  }

  function refusedMemory(pod: Pod, given: Pod): Pending | undefined {
    if (deps.memoryInfeasible === undefined) return undefined;
    const before = new Map(resizableContainers(given).map((container) => [container.name, container.resources ?? {}]));
    const memory = resizableContainers(pod).some(({ name, resources }) =>
      changedResources(resources ?? {}, before.get(name) ?? {}).includes('memory'),
    );
    const whole = changedResources(pod.spec?.resources ?? {}, given.spec?.resources ?? {}).includes('memory');
    return memory || whole ? { reason: 'Infeasible', message: deps.memoryInfeasible } : undefined;
  }

  function keep(pod: Pod): Promise<void> {
    const resources = resizableContainers(pod).map(
      (container) => [container.name, resourcesToKeep(container.resources ?? {})] as const,
    );
    const own = pod.spec?.resources;
    return state.setAllocated(podUid(pod), Object.fromEntries(resources), own && resourcesToKeep(own));
  }

  /** What it has as a whole must be known when it asks for something else. */
  async function keepFirst(pod: Pod, seen: RuntimePodStatus): Promise<void> {
    // A new pod's cgroup is made with that; of one that runs already it is not known what its cgroup has.
    if (seen.containers.some(({ state: is }) => is === 'running')) await state.setSettled(podUid(pod), false);
    await state.setActuatedPod(podUid(pod), resourcesToKeep(pod.spec!.resources!));
    await keep(pod);
  }

  async function allocate(pod: Pod): Promise<void> {
    await state.setSettled(podUid(pod), false);
    await keep(pod);
    failures.delete(podUid(pod));
    inProgress.add(podUid(pod));
    recorder.event(pod, 'Normal', 'ResizeStarted', resizeMessage('started', pod));
  }

  function defer(pod: Pod, why: Pending): void {
    const before = pending.get(podUid(pod));
    pending.set(podUid(pod), why);
    if (before?.reason === why.reason && before.message === why.message) return;
    recorder.event(pod, 'Warning', `Resize${why.reason}`, resizeMessage(why.reason, pod, why.message));
  }

  function unfinished(pod: Pod, seen: RuntimePodStatus): boolean {
    const whole = actuatedPod(podUid(pod));
    if (whole !== undefined && changedResources(pod.spec?.resources ?? {}, whole).length > 0) return true;
    return resizableContainers(pod).some((container) => {
      const status = seen.containers.find((candidate) => candidate.name === container.name);
      const has = status?.state === 'running' ? actuated(status) : undefined;
      return has !== undefined && changedResources(resourcesInPod(pod, container), has).length > 0;
    });
  }

  return {
    allocatedPod,
    actuated,
    async resolve(pod, seen) {
      const known = state.allocated(podUid(pod)) !== undefined;
      const given = known ? allocatedPod(pod) : withActuated(pod, seen);
      const whole = given.spec?.resources !== undefined;
      if (!known && whole) await keepFirst(given, seen);
      if (given === pod) {
        pending.delete(podUid(pod));
        if (!whole) withoutOwn.add(podUid(pod));
        return pod;
      }
      const fixed = deps.infeasible?.(pod);
      const against: Pending | undefined =
        fixed === undefined ? (refusedMemory(pod, given) ?? verdict(pod)) : { reason: 'Infeasible', message: fixed };
      if (against === undefined) {
        pending.delete(podUid(pod));
        await allocate(pod);
        return pod;
      }
      defer(pod, against);
      // Others must not count what is only wished for.
      if (!known && !whole) await keep(given);
      return given;
    },
    actuatedPod,
    noteActuatedPod: (uid, resources) => state.setActuatedPod(uid, resourcesToKeep(resources)),
    noteActuated: (uid, containerId, resources) => state.setActuated(uid, containerId, resourcesToKeep(resources)),
    noteFailure(pod, message) {
      if (message === undefined) {
        failures.delete(podUid(pod));
        return;
      }
      failures.set(podUid(pod), message);
      recorder.event(pod, 'Warning', 'ResizeError', resizeMessage('error', pod, message));
    },
    isSettled: (uid) => state.settled(uid),
    noteSettled: (uid) => state.setSettled(uid, true),
    isDeferred: (uid) => pending.get(uid)?.reason === 'Deferred',
    conditions(pod, seen) {
      const uid = podUid(pod);
      const generation = pod.metadata.generation;
      const base = { status: 'True', ...(generation === undefined ? {} : { observedGeneration: generation }) };
      const waits = pending.get(uid);
      const failure = failures.get(uid);
      const busy = failure !== undefined || unfinished(allocatedPod(pod), seen);
      if (!busy && inProgress.delete(uid))
        recorder.event(pod, 'Normal', 'ResizeCompleted', resizeMessage('completed', allocatedPod(pod)));
      return [
        ...(waits === undefined ? [] : [{ ...base, type: 'PodResizePending', ...waits }]),
        ...(busy
          ? [
              {
                ...base,
                type: 'PodResizeInProgress',
                ...(failure === undefined ? {} : { reason: 'Error', message: failure }),
              },
            ]
          : []),
      ];
    },
    async forget(uid) {
      pending.delete(uid);
      failures.delete(uid);
      inProgress.delete(uid);
      withoutOwn.delete(uid);
      await state.forget(uid);
    },
  };
}

/** Statuses count too where the API's view of a pod is asked; here only what is wanted or given does. */
function withoutStatus({ status: _status, ...pod }: Pod): Pod {
  return pod;
}
