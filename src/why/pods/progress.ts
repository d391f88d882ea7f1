/** How far a pod has come. */
import type { Pod } from '../../api/gen/core-v1.ts';

/** Whether a container has run: volumes and the sandbox were there. */
export function hasStarted(pod: Pod): boolean {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  return statuses.some(({ containerID, restartCount }) => (containerID ?? '') !== '' || restartCount > 0);
}
