/**
 * Removes dead containers a pod no longer needs, as soon as another one ends. Upstream: pkg/kubelet/pod_container_deletor.go.
 * The newest dead container of each name stays, for its logs and last state.
 */
import type { Log } from '../../platform/log.ts';
import type { ContainerRuntime, PodStatus } from '../container/runtime.ts';

/** Ids to delete: dead containers of the same name as `exitedId` (all names when empty) beyond the `keep` newest. Pure. */
export function containersToDelete(status: PodStatus, exitedId: string, keep: number): readonly string[] {
  const name = status.containers.find((container) => container.id === exitedId)?.name;
  if (exitedId !== '' && name === undefined) return [];
  const ids: string[] = [];
  const seen = new Map<string, number>();
  const newestFirst = [...status.containers].sort((a, b) => b.createdAtMs - a.createdAtMs);
  for (const container of newestFirst) {
    if (container.state !== 'exited' || (name !== undefined && container.name !== name)) continue;
    const before = seen.get(container.name) ?? 0;
    seen.set(container.name, before + 1);
    if (before >= keep) ids.push(container.id);
  }
  return ids;
}

/** Deletes them behind; failures are logged and left to garbage collection. */
export function deleteContainers(deps: { runtime: ContainerRuntime; log: Log }, ids: readonly string[]): void {
  for (const id of ids) {
    deps.runtime
      .deleteContainer(id)
      .catch((error: unknown) => deps.log.warn('Failed to delete container', { containerID: id, err: error }));
  }
}
