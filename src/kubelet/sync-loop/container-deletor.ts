/**
 * Removes dead containers that a pod no longer needs, as soon as another one ends. Upstream: pkg/kubelet/pod_container_deletor.go
 * and cleanUpContainersInPod. The newest dead container of each name stays, for its logs and last state.
 */
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';
import type { PodCache } from '../container/pod-cache.ts';
import type { ContainerRuntime, PodStatus } from '../container/runtime.ts';
import type { PodWorkers } from '../pod-workers/pod-syncer.ts';

/** Deletions at a time. */
const MAX_DELETIONS = 5;

export interface ContainerDeletorDeps {
  readonly log: Log;
  readonly runtime: Pick<ContainerRuntime, 'deleteContainer'>;
  readonly podCache: Pick<PodCache, 'peek'>;
  readonly podWorkers: Pick<PodWorkers, 'shouldPodContentBeRemoved'>;
}

/** Keeps `keep` dead containers of each name, none when the pod was deleted or evicted. Failures are left to garbage collection. */
export function createContainerDeletor(
  { log, runtime, podCache, podWorkers }: ContainerDeletorDeps,
  keep: number,
): (podUid: string, exitedContainerId: string) => void {
  const queue = new DeletionQueue(log, runtime);
  return (podUid, exitedContainerId) => {
    const status = podCache.peek(podUid);
    if (status === undefined) return;
    const ids = podWorkers.shouldPodContentBeRemoved(podUid)
      ? containersToDelete(status, '', 0)
      : containersToDelete(status, exitedContainerId, keep);
    for (const id of ids) queue.add(id);
  };
}

/** Each container is asked for once, and few at a time: a pod of many containers ends them all in one moment. */
class DeletionQueue {
  readonly #log: Log;
  readonly #runtime: ContainerDeletorDeps['runtime'];
  /** Waiting and under way. */
  readonly #ids = new Set<string>();
  readonly #waiting: string[] = [];
  #underWay = 0;

  constructor(log: Log, runtime: ContainerDeletorDeps['runtime']) {
    this.#log = log;
    this.#runtime = runtime;
  }

  add(id: string): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    this.#waiting.push(id);
    if (this.#underWay < MAX_DELETIONS) background(this.#log, 'containers could not be deleted', this.#work());
  }

  async #work(): Promise<void> {
    this.#underWay++;
    for (let id = this.#waiting.shift(); id !== undefined; id = this.#waiting.shift()) {
      try {
        await this.#runtime.deleteContainer(id);
      } catch (error) {
        this.#log.warn('Failed to delete container', { containerID: id, err: error });
      }
      this.#ids.delete(id);
    }
    this.#underWay--;
  }
}

/** Ids of dead containers of the same name as `exitedId` (all names when empty) beyond the `keep` newest. */
function containersToDelete(status: PodStatus, exitedId: string, keep: number): readonly string[] {
  const { byId, byName } = exitedOf(status);
  if (exitedId === '') return [...byName.values()].flatMap((ids) => ids.slice(keep));
  const name = byId.get(exitedId);
  return name === undefined ? [] : (byName.get(name)?.slice(keep) ?? []);
}

interface ExitedContainers {
  /** Names of all containers. */
  readonly byId: ReadonlyMap<string, string>;
  /** Ids of dead containers, newest first. */
  readonly byName: ReadonlyMap<string, readonly string[]>;
}

/** Exited containers by status object: all containers of a pod may end in one moment, and each asks. */
const known = new WeakMap<PodStatus, ExitedContainers>();

function exitedOf(status: PodStatus): ExitedContainers {
  let exited = known.get(status);
  if (exited === undefined) known.set(status, (exited = readExited(status)));
  return exited;
}

function readExited({ containers }: PodStatus): ExitedContainers {
  const byName = new Map<string, string[]>();
  for (const { id, name, state } of containers.toSorted((a, b) => b.createdAtMs - a.createdAtMs)) {
    if (state !== 'exited') continue;
    const ids = byName.get(name);
    if (ids === undefined) byName.set(name, [id]);
    else ids.push(id);
  }
  return { byId: new Map(containers.map(({ id, name }) => [id, name])), byName };
}
