/** The phase of a pod from its containers' statuses. Pure. Upstream: getPhase in pkg/kubelet/kubelet_pods.go. */
import { isRestartableInitContainer } from '../../api/pod-containers.ts';
import type { ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import { isStaticPod } from '../types/pod-update.ts';

/** The phases that a kubelet reports. */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

interface Counts {
  pendingInit: number;
  failedInit: number;
  unknown: number;
  running: number;
  waiting: number;
  stopped: number;
  succeeded: number;
}

function countInit(status: ContainerStatus | undefined, counts: Counts): void {
  const ended =
    status?.state?.terminated ?? (status?.state?.waiting === undefined ? undefined : status.lastState?.terminated);
  if (ended === undefined) counts.pendingInit++;
  else if (ended.exitCode !== 0) counts.failedInit++;
}

/** Terminated sidecars do not affect the phase. */
function countSidecar(status: ContainerStatus | undefined, counts: Counts): void {
  if (status?.state?.running !== undefined) {
    if (status.started !== true) counts.pendingInit++;
    counts.running++;
  } else if (status?.state?.waiting !== undefined) {
    if (status.lastState?.terminated !== undefined) return;
    counts.pendingInit++;
    counts.waiting++;
  } else if (status?.state?.terminated === undefined) {
    counts.unknown++;
    if (status !== undefined) counts.pendingInit++;
  }
}

function countContainer(status: ContainerStatus | undefined, counts: Counts): void {
  if (status?.state?.running !== undefined) counts.running++;
  else if (status?.state?.terminated !== undefined) {
    counts.stopped++;
    if (status.state.terminated.exitCode === 0) counts.succeeded++;
  } else if (status?.state?.waiting !== undefined) {
    if (status.lastState?.terminated === undefined) counts.waiting++;
    else counts.stopped++;
  } else counts.unknown++;
}

/** Whether a regular container has ever started, so that initialization is complete. */
export function hasAnyRegularContainerStarted(pod: Pod, statuses: readonly ContainerStatus[]): boolean {
  const names = new Set((pod.spec?.containers ?? []).map((container) => container.name));
  return statuses.some((status) => {
    if (!names.has(status.name)) return false;
    return (
      status.state?.running !== undefined ||
      status.state?.terminated !== undefined ||
      status.lastState?.terminated !== undefined
    );
  });
}

/**
 * `podIsTerminal`: no container runs again, whatever the restart policy. `statuses`: of init and regular containers.
 */
export function getPhase(pod: Pod, statuses: readonly ContainerStatus[], podIsTerminal: boolean): PodPhase {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const counts: Counts = {
    pendingInit: 0,
    failedInit: 0,
    unknown: 0,
    running: 0,
    waiting: 0,
    stopped: 0,
    succeeded: 0,
  };
  for (const container of pod.spec?.initContainers ?? []) {
    const count = isRestartableInitContainer(container) ? countSidecar : countInit;
    count(byName.get(container.name), counts);
  }
  for (const container of pod.spec?.containers ?? []) countContainer(byName.get(container.name), counts);

  const policy = pod.spec?.restartPolicy ?? 'Always';
  if (counts.failedInit > 0 && policy === 'Never') return 'Failed';
  const initializing = counts.pendingInit > 0 && !hasAnyRegularContainerStarted(pod, statuses);
  if (initializing || counts.waiting > 0) return 'Pending';
  if (counts.running > 0 && counts.unknown === 0) return 'Running';
  if (counts.running === 0 && counts.stopped > 0 && counts.unknown === 0)
    return phaseOfStopped(pod, counts, podIsTerminal);
  return 'Pending';
}

function phaseOfStopped(pod: Pod, counts: Counts, podIsTerminal: boolean): PodPhase {
  const ended = counts.stopped === counts.succeeded ? 'Succeeded' : 'Failed';
  if (podIsTerminal && !isStaticPod(pod)) return ended;
  switch (pod.spec?.restartPolicy ?? 'Always') {
    case 'Always':
      return 'Running';
    case 'Never':
      return ended;
    default:
      // With OnFailure, failed containers are being restarted.
      return ended === 'Succeeded' ? 'Succeeded' : 'Running';
  }
}
