/** The progress of a pod's start. */
import type { Pod } from '../../api/gen/core-v1.ts';

/** Whether a container has run, which proves that volumes and the sandbox existed. */
export function hasStarted(pod: Pod): boolean {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  return statuses.some(({ containerID, restartCount }) => (containerID ?? '') !== '' || restartCount > 0);
}
