/**
 * Restart policies and rules of containers. Upstream: pkg/api/v1/pod/util.go (IsRestartableInitContainer,
 * IsContainerRestartable, ContainerShouldRestart, findMatchingContainerRestartRule).
 */
import type { Container, EphemeralContainer, Pod } from '../../api/gen/core-v1.ts';

/** The action of the first rule that matches the exit code. Rules without exit codes match nothing. */
function restartRuleAction(container: Container | EphemeralContainer, exitCode: number): string | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    if (exitCodes === undefined) return false;
    const listed = exitCodes.values?.includes(exitCode) ?? false;
    if (exitCodes.operator === 'In') return listed;
    return exitCodes.operator === 'NotIn' && !listed;
  })?.action;
}

function restartPolicyOf(container: Container | EphemeralContainer, pod: Pod): string {
  return container.restartPolicy ?? pod.spec?.restartPolicy ?? 'Always';
}

/** Whether the container is restarted after at least one exit code. */
export function isContainerRestartable(container: Container | EphemeralContainer, pod: Pod): boolean {
  const rules = container.restartPolicyRules ?? [];
  return (
    restartPolicyOf(container, pod) !== 'Never' ||
    rules.some(({ action }) => action === 'Restart' || action === 'RestartAllContainers')
  );
}

/** Whether a container is restarted after this exit code: by the first matching rule, else by the policy. */
export function containerShouldRestart(container: Container | EphemeralContainer, pod: Pod, exitCode: number): boolean {
  const action = restartRuleAction(container, exitCode);
  if (action === 'Restart' || action === 'RestartAllContainers') return true;
  const policy = restartPolicyOf(container, pod);
  return policy === 'OnFailure' ? exitCode !== 0 : policy !== 'Never';
}

/** Whether the exit of this container restarts the whole pod in place. */
export function restartsAllContainers(container: Container, exitCode: number): boolean {
  return restartRuleAction(container, exitCode) === 'RestartAllContainers';
}
