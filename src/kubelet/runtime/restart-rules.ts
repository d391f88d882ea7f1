/** Whether a container that ended is started again. Upstream: kubecontainer.ShouldContainerBeRestarted, podutil (restart rules). */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ContainerStatus } from '../container/runtime.ts';

/** The action of the first rule that matches an exit code; undefined when none does. */
function ruleAction(container: Container, exitCode: number): string | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    if (exitCodes === undefined) return false;
    const listed = exitCodes.values?.includes(exitCode) ?? false;
    return exitCodes.operator === 'NotIn' ? !listed : listed;
  })?.action;
}

/** The policy of one container: its own over the pod's. */
export function restartPolicyOf(pod: Pod, container: Container): string {
  return container.restartPolicy ?? pod.spec?.restartPolicy ?? 'Always';
}

/** Whether a container that ended with this code runs again. */
export function restartsAfterExit(pod: Pod, container: Container, exitCode: number): boolean {
  const action = ruleAction(container, exitCode);
  if (action === 'Restart' || action === 'RestartAllContainers') return true;
  const policy = restartPolicyOf(pod, container);
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/** Whether the end of this container restarts the whole pod in place. */
export function restartsAllContainers(container: Container, exitCode: number): boolean {
  return ruleAction(container, exitCode) === 'RestartAllContainers';
}

/** Whether a container may be restarted at all when it fails, whatever its code. */
export function restartsOnFailure(pod: Pod, container: Container): boolean {
  return restartPolicyOf(pod, container) !== 'Never';
}

/** Whether a container in this state should be started. */
export function shouldContainerBeRestarted(
  pod: Pod,
  container: Container,
  status: ContainerStatus | undefined,
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (status === undefined) return true;
  if (status.state === 'running') return false;
  if (status.state !== 'exited') return true;
  return restartsAfterExit(pod, container, status.exitCode);
}
