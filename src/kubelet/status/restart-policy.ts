/**
 * Whether a container starts (again). Pure. Upstream: ShouldContainerBeRestarted (pkg/kubelet/container/helpers.go) and
 * ContainerShouldRestart (pkg/api/v1/pod), with restart policies and rules of single containers.
 */
import type { Container, EphemeralContainer, Pod } from '../../api/gen/core-v1.ts';
import type { ContainerStatus, PodStatus } from '../container/runtime.ts';

/** Whether this is a sidecar: an init container that restarts always. */
export function isRestartableInitContainer(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/** Newest status of a container by name. */
export function findContainerStatus(status: PodStatus, name: string): ContainerStatus | undefined {
  return status.containers.find((container) => container.name === name);
}

/** Whether a container that exited with this code is to run again. */
export function restartsAfterExit(container: Container | EphemeralContainer, pod: Pod, exitCode: number): boolean {
  for (const rule of container.restartPolicyRules ?? []) {
    if (rule.action !== 'Restart' && rule.action !== 'RestartAllContainers') continue;
    const values = rule.exitCodes?.values ?? [];
    const listed = values.includes(exitCode);
    if (rule.exitCodes !== undefined && listed === (rule.exitCodes.operator === 'In')) return true;
  }
  switch (container.restartPolicy ?? pod.spec?.restartPolicy ?? 'Always') {
    case 'Never':
      return false;
    case 'OnFailure':
      return exitCode !== 0;
    default:
      return true;
  }
}

/** Whether the next sync starts the container. */
export function shouldContainerBeRestarted(
  container: Container | EphemeralContainer,
  pod: Pod,
  status: PodStatus,
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const newest = findContainerStatus(status, container.name);
  switch (newest?.state) {
    case undefined:
    case 'unknown':
    case 'created':
      return true;
    case 'running':
      return false;
    case 'exited':
      return restartsAfterExit(container, pod, newest.exitCode);
  }
}
