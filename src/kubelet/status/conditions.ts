/**
 * Conditions of a pod from its containers' statuses. Pure; the status manager sets transition times. Upstream:
 * pkg/kubelet/status/generate.go.
 */
import { isRestartableInitContainer, sidecarsOf } from '../../api/pod-containers.ts';
import { firstBy, firstByName } from '../../base/first-by.ts';
import type { Container, ContainerStatus, Pod, PodCondition } from '../../api/gen/core-v1.ts';
import { trueConditionText, type PodConditionType } from '../../component-helpers/pod-conditions.ts';
import type { PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import { isHostNetworkPod } from '../types/pod-update.ts';
import { hasAnyRegularContainerStarted } from './phase.ts';

/** The input of the conditions. `statuses` undefined: there are none yet. */
export interface ConditionInput {
  readonly pod: Pod;
  readonly statuses: readonly ContainerStatus[] | undefined;
  readonly phase: string;
}

/** The reason of Ready while containers are ready and readiness gates are not. */
export const READINESS_GATES_NOT_READY = 'ReadinessGatesNotReady';

const NO_STATUSES = 'the kubelet knows no status of the containers yet';
const COMPLETED = { reason: 'PodCompleted', message: 'the pod has run to its end' };

function condition(
  { metadata: { generation } }: Pod,
  type: PodConditionType,
  rest: { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string },
): PodCondition {
  return { type, ...(generation === undefined ? {} : { observedGeneration: generation }), ...rest };
}

function isTrue(pod: Pod, type: PodConditionType): PodCondition {
  return condition(pod, type, { status: 'True', ...trueConditionText(pod, type) });
}

function isFalse(pod: Pod, type: PodConditionType, reason: string, message: string): PodCondition {
  return condition(pod, type, { status: 'False', reason, message });
}

function sortOut(
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  good: (container: Container, status: ContainerStatus) => boolean,
): { unknown: string[]; bad: string[] } {
  const unknown: string[] = [];
  const bad: string[] = [];
  const byName = firstByName(statuses);
  for (const container of containers) {
    const status = byName.get(container.name);
    if (status === undefined) unknown.push(container.name);
    else if (!good(container, status)) bad.push(container.name);
  }
  return { unknown, bad };
}

function messageOf(sorted: { unknown: string[]; bad: string[] }, what: string): string {
  const texts: string[] = [];
  if (sorted.unknown.length > 0) texts.push(`containers with unknown status: [${sorted.unknown.join(' ')}]`);
  if (sorted.bad.length > 0) texts.push(`containers with ${what} status: [${sorted.bad.join(' ')}]`);
  return texts.join(', ');
}

function readyAs(type: 'Ready' | 'ContainersReady', input: ConditionInput): PodCondition {
  const { pod, statuses, phase } = input;
  if (statuses === undefined) return isFalse(pod, type, 'UnknownContainerStatuses', NO_STATUSES);
  const sidecars = sidecarsOf(pod.spec);
  const sorted = sortOut(
    [...sidecars, ...(pod.spec?.containers ?? [])],
    statuses,
    (_container, status) => status.ready,
  );
  if (phase === 'Succeeded' && sorted.unknown.length === 0)
    return condition(pod, type, { status: 'False', ...COMPLETED });
  if (phase === 'Failed') return isFalse(pod, type, 'PodFailed', 'the pod has failed');
  const message = messageOf(sorted, 'unready');
  return message === '' ? isTrue(pod, type) : isFalse(pod, type, 'ContainersNotReady', message);
}

/** ContainersReady: every container (and sidecar) is ready. */
export function containersReadyCondition(input: ConditionInput): PodCondition {
  return readyAs('ContainersReady', input);
}

/** Ready: containers ready and every readiness gate's condition True. */
export function podReadyCondition(input: ConditionInput, conditions: readonly PodCondition[]): PodCondition {
  const base = readyAs('Ready', input);
  if (base.status !== 'True') return base;
  const messages: string[] = [];
  const byType = firstBy(conditions, ({ type }) => type);
  for (const gate of input.pod.spec?.readinessGates ?? []) {
    const podCondition = byType.get(gate.conditionType);
    if (podCondition === undefined)
      messages.push(`corresponding condition of pod readiness gate "${gate.conditionType}" does not exist.`);
    else if (podCondition.status !== 'True')
      messages.push(
        `the status of pod readiness gate "${gate.conditionType}" is not "True", but ${podCondition.status}`,
      );
  }
  if (messages.length === 0) return base;
  return isFalse(input.pod, 'Ready', READINESS_GATES_NOT_READY, messages.join(', '));
}

/** Initialized: every init container has completed, every sidecar has started. */
export function podInitializedCondition(input: ConditionInput): PodCondition {
  const { pod, statuses, phase } = input;
  const initContainers = pod.spec?.initContainers ?? [];
  if (statuses === undefined && initContainers.length > 0)
    return isFalse(pod, 'Initialized', 'UnknownContainerStatuses', NO_STATUSES);
  const sorted = sortOut(initContainers, statuses ?? [], (container, status) =>
    isRestartableInitContainer(container) ? status.started === true : status.state?.terminated?.exitCode === 0,
  );
  if (phase === 'Succeeded' && sorted.unknown.length === 0)
    return condition(pod, 'Initialized', { status: 'True', ...COMPLETED });
  if (hasAnyRegularContainerStarted(pod, statuses ?? [])) return isTrue(pod, 'Initialized');
  const message = messageOf(sorted, 'incomplete');
  return message === '' ? isTrue(pod, 'Initialized') : isFalse(pod, 'Initialized', 'ContainersNotInitialized', message);
}

/** PodReadyToStartContainers: sandbox and network are ready. The reason of False is that of upstream after v1.36. */
export function podReadyToStartContainersCondition(pod: Pod, runtimeStatus: RuntimePodStatus): PodCondition {
  const problem = sandboxProblem(pod, runtimeStatus);
  return problem === undefined
    ? sandboxReadyCondition(pod)
    : isFalse(pod, 'PodReadyToStartContainers', 'PodSandboxNotReady', problem);
}

export function sandboxReadyCondition(pod: Pod): PodCondition {
  return isTrue(pod, 'PodReadyToStartContainers');
}

function sandboxProblem(pod: Pod, { sandboxes, ips }: RuntimePodStatus): string | undefined {
  const [newest] = sandboxes;
  if (newest === undefined) return 'the pod has no sandbox yet';
  if (!newest.ready) return 'the latest sandbox of the pod is not ready';
  const hasAddress = isHostNetworkPod(pod) || newest.ips.length > 0 || ips.length > 0;
  return hasAddress ? undefined : 'the sandbox of the pod has no address yet';
}

/** PodScheduled: true, since the pod has a node. */
export function podScheduledCondition(pod: Pod): PodCondition {
  return isTrue(pod, 'PodScheduled');
}
