/** Conditions of a pod from its containers' statuses. Pure; transition times are the status manager's. Upstream: pkg/kubelet/status/generate.go. */
import { isRestartableInitContainer, sidecarsOf } from '../../api/pod-containers.ts';
import { firstBy, firstByName } from '../../base/first-by.ts';
import type { Container, ContainerStatus, Pod, PodCondition } from '../../api/gen/core-v1.ts';
import type { PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import { isHostNetworkPod } from '../types/pod-update.ts';
import { hasAnyRegularContainerStarted } from './phase.ts';

/** What conditions are made from. `statuses` undefined: the kubelet knows none yet. */
export interface ConditionInput {
  readonly pod: Pod;
  readonly statuses: readonly ContainerStatus[] | undefined;
  readonly phase: string;
}

/** What is False says why, also where upstream leaves out the message. */
const NO_STATUSES = 'the kubelet knows no status of the containers yet';

/** Reason and message are left out when empty. */
function condition(
  pod: Pod,
  type: string,
  ...[status, reason = '', message = '']: [status: 'True' | 'False', reason?: string, message?: string]
): PodCondition {
  const generation = pod.metadata.generation;
  return {
    type,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    status,
    ...(reason === '' ? {} : { reason }),
    ...(message === '' ? {} : { message }),
  };
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

function readyAs(type: string, input: ConditionInput): PodCondition {
  const { pod, statuses, phase } = input;
  if (statuses === undefined) return condition(pod, type, 'False', 'UnknownContainerStatuses', NO_STATUSES);
  const sidecars = sidecarsOf(pod.spec);
  const sorted = sortOut(
    [...sidecars, ...(pod.spec?.containers ?? [])],
    statuses,
    (_container, status) => status.ready,
  );
  if (phase === 'Succeeded' && sorted.unknown.length === 0)
    return condition(pod, type, 'False', 'PodCompleted', 'the pod has run to its end');
  if (phase === 'Failed') return condition(pod, type, 'False', 'PodFailed', 'the pod has failed');
  const message = messageOf(sorted, 'unready');
  return message === '' ? condition(pod, type, 'True') : condition(pod, type, 'False', 'ContainersNotReady', message);
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
    const found = byType.get(gate.conditionType);
    if (found === undefined)
      messages.push(`corresponding condition of pod readiness gate "${gate.conditionType}" does not exist.`);
    else if (found.status !== 'True')
      messages.push(`the status of pod readiness gate "${gate.conditionType}" is not "True", but ${found.status}`);
  }
  if (messages.length === 0) return base;
  return condition(input.pod, 'Ready', 'False', 'ReadinessGatesNotReady', messages.join(', '));
}

/** Initialized: every init container has done its part. */
export function podInitializedCondition(input: ConditionInput): PodCondition {
  const { pod, statuses, phase } = input;
  const initContainers = pod.spec?.initContainers ?? [];
  if (statuses === undefined && initContainers.length > 0)
    return condition(pod, 'Initialized', 'False', 'UnknownContainerStatuses', NO_STATUSES);
  const sorted = sortOut(initContainers, statuses ?? [], (container, status) =>
    isRestartableInitContainer(container) ? status.started === true : status.state?.terminated?.exitCode === 0,
  );
  if (phase === 'Succeeded' && sorted.unknown.length === 0)
    return condition(pod, 'Initialized', 'True', 'PodCompleted');
  if (hasAnyRegularContainerStarted(pod, statuses ?? [])) return condition(pod, 'Initialized', 'True');
  const message = messageOf(sorted, 'incomplete');
  return message === ''
    ? condition(pod, 'Initialized', 'True')
    : condition(pod, 'Initialized', 'False', 'ContainersNotInitialized', message);
}

/** PodReadyToStartContainers: the sandbox and its network are up. Reason and message as upstream has them after v1.36. */
export function podReadyToStartContainersCondition(pod: Pod, runtimeStatus: RuntimePodStatus): PodCondition {
  const problem = sandboxProblem(pod, runtimeStatus);
  return problem === undefined
    ? condition(pod, 'PodReadyToStartContainers', 'True')
    : condition(pod, 'PodReadyToStartContainers', 'False', 'PodSandboxNotReady', problem);
}

function sandboxProblem(pod: Pod, { sandboxes, ips }: RuntimePodStatus): string | undefined {
  const [newest] = sandboxes;
  if (newest === undefined) return 'the pod has no sandbox yet';
  if (!newest.ready) return 'the latest sandbox of the pod is not ready';
  const hasAddress = isHostNetworkPod(pod) || newest.ips.length > 0 || ips.length > 0;
  return hasAddress ? undefined : 'the sandbox of the pod has no address yet';
}

/** PodScheduled: a pod here has a node. */
export function podScheduledCondition(pod: Pod): PodCondition {
  return condition(pod, 'PodScheduled', 'True');
}
