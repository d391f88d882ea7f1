/** Facts of a pod's status in the runtime. Upstream: pkg/kubelet/container (helpers.go, FindContainerStatusByName). */
import type { Container, EphemeralContainer, Pod } from '../../api/gen/core-v1.ts';
import { firstByName } from '../../base/first-by.ts';
import { containerShouldRestart } from './restart-policy.ts';
import type { ContainerStatus, PodStatus, RuntimePod } from './runtime.ts';

/** The newest status of the container: statuses are sorted newest first. */
export function findContainerStatusByName(status: PodStatus, name: string): ContainerStatus | undefined {
  let byName = statusesByName.get(status.containers);
  if (byName === undefined) statusesByName.set(status.containers, (byName = firstByName(status.containers)));
  return byName.get(name);
}

/** An index, since each of a pod's thousands of containers is looked up. */
const statusesByName = new WeakMap<PodStatus['containers'], ReadonlyMap<string, ContainerStatus>>();

/**
 * The containers and sandboxes to kill: running containers and every sandbox. Containers in state created or unknown
 * have no process to stop gracefully; the runtime ends them with their sandbox.
 */
export function convertPodStatusToRunningPod(status: PodStatus): RuntimePod {
  return {
    uid: status.uid,
    name: status.name,
    namespace: status.namespace,
    createdAtMs: status.sandboxes[0]?.createdAtMs ?? 0,
    containers: status.containers
      .filter(({ state }) => state === 'running')
      .map(({ id, name, state, hash }) => ({ id, name, state, hash })),
    sandboxes: status.sandboxes.map(({ id, ready }) => ({ id, state: ready ? 'running' : 'exited' })),
  };
}

/** Whether the next sync of the pod starts the container. */
export function shouldContainerBeRestarted(
  container: Container | EphemeralContainer,
  pod: Pod,
  podStatus: PodStatus,
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const status = findContainerStatusByName(podStatus, container.name);
  if (status === undefined) return true;
  if (status.state === 'running') return false;
  if (status.state !== 'exited') return true;
  return containerShouldRestart(container, pod, status.exitCode);
}
