/** Which init containers are started, restarted or killed. Upstream: computeInitContainerActions. */
import { isRestartableInitContainer } from '../../api/pod-containers.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { findContainerStatusByName } from '../container/helpers.ts';
import { containerShouldRestart, isContainerRestartable } from '../container/restart-policy.ts';
import type { ContainerStatus, PodStatus } from '../container/runtime.ts';
import type { ProbeResults } from '../prober/results.ts';
import { type Draft, killOfRunning, killOfUnknown, recordResize } from './pod-actions.ts';

function isFailed(status: ContainerStatus): boolean {
  if (status.state === 'exited') return status.exitCode !== 0;
  return status.state === 'unknown';
}

export function anyContainerCreated(pod: Pod, podStatus: PodStatus): boolean {
  return (pod.spec?.containers ?? []).some((container) => {
    const status = findContainerStatusByName(podStatus, container.name);
    return status !== undefined && status.state !== 'unknown';
  });
}

/** Adds the restart of a running sidecar when its probes or its spec require one; true when it did. */
function restartSidecar(container: Container, status: ContainerStatus, draft: Draft): boolean {
  const kill =
    killOfRunning({ container, status, probes: draft.probes, kind: 'Init container' }) ??
    recordResize(container, status, draft);
  if (kill === undefined) return false;
  draft.kill.push(kill);
  draft.init.push(container);
  return true;
}

/** Whether a running sidecar has started, so that the next container may start. */
function sidecarStarted(container: Container, status: ContainerStatus, probes: ProbeResults): boolean {
  return container.startupProbe === undefined || probes.get('startup', status.id) === 'success';
}

/**
 * Handles the last init container with a status while the pod is not initialized. True when it is the pod's last init
 * container and has completed.
 */
function advanceInit(index: number, status: ContainerStatus, draft: Draft): boolean {
  const { pod, probes } = draft;
  const initContainers = pod.spec!.initContainers!;
  const container = initContainers[index]!;
  const proceed = (): boolean => {
    const next = initContainers[index + 1];
    if (next === undefined) return true;
    draft.init.push(next);
    return false;
  };
  if (status.state === 'running') {
    if (!isRestartableInitContainer(container)) {
      // The API refuses resizes that would restart the container.
      recordResize(container, status, draft);
      return false;
    }
    if (restartSidecar(container, status, draft)) return false;
    return sidecarStarted(container, status, probes) && proceed();
  }
  if (status.state === 'exited' && !isRestartableInitContainer(container) && !isFailed(status)) return proceed();
  if (status.state === 'unknown') {
    draft.kill.push(killOfUnknown(container, status, 'Init container'));
  }
  if (
    isFailed(status) &&
    !isRestartableInitContainer(container) &&
    !(status.state === 'exited'
      ? containerShouldRestart(container, pod, status.exitCode)
      : isContainerRestartable(container, pod))
  ) {
    draft.killPod = true;
    draft.init = [];
    return false;
  }
  draft.init.push(container);
  return false;
}

/** Keeps a sidecar running that comes before the current init container. */
function keepSidecar(container: Container, status: ContainerStatus | undefined, draft: Draft): void {
  if (status?.state === 'running') {
    restartSidecar(container, status, draft);
    return;
  }
  if (status?.state === 'unknown') {
    draft.kill.push(killOfUnknown(container, status, 'Init container'));
  }
  draft.init.push(container);
}

/** Adds init containers to start or kill; true when the pod is initialized. */
export function computeInit(draft: Draft): boolean {
  const { pod, podStatus } = draft;
  const initContainers = pod.spec?.initContainers ?? [];
  if (initContainers.length === 0) return true;
  let initialized = anyContainerCreated(pod, podStatus);
  // Completed init containers may have been removed: the last one with a status shows the progress.
  let passed = initialized;
  for (let index = initContainers.length - 1; index >= 0 && !draft.killPod; index--) {
    const container = initContainers[index]!;
    const status = findContainerStatusByName(podStatus, container.name);
    if (passed) {
      if (isRestartableInitContainer(container)) keepSidecar(container, status, draft);
    } else if (status !== undefined) {
      passed = true;
      initialized = advanceInit(index, status, draft);
    }
  }
  if (!passed) draft.init.push(initContainers[0]!);
  const order = new Map(initContainers.map((container, index) => [container.name, index]));
  draft.init.sort((a, b) => order.get(a.name)! - order.get(b.name)!);
  return initialized;
}
