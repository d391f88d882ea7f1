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

/**
 * Keeps `keep` exited containers of each name, or none when the pod was deleted or evicted. Failures are left to
 * garbage collection.
 */
export function createContainerDeletor(
  { log, runtime, podCache, podWorkers }: ContainerDeletorDeps,
  keep: number,
): (podUid: string, exitedContainerId: string) => void {
  const queue = new DeletionQueue(log, runtime);
  return (podUid, exitedContainerId) => {
    const status = podCache.peek(podUid);
    if (status === undefined) return;
    const exited = exitedOf(status);
    const ids = podWorkers.shouldPodContentBeRemoved(podUid) ? exited.takeAll() : exited.take(exitedContainerId, keep);
    for (const id of ids) queue.add(id);
  };
}

/** Deletes each container once, and few at a time, since all containers of a pod may exit at once. */
class DeletionQueue {
  readonly #log: Log;
  readonly #runtime: ContainerDeletorDeps['runtime'];
  /** Ids that are waiting or being deleted. */
  readonly #ids = new Set<string>();
  #waiting: string[] = [];
  /** Index of the next one in `#waiting`, as a shift would move all others. */
  #next = 0;
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
    for (let id = this.#take(); id !== undefined; id = this.#take()) {
      try {
        await this.#runtime.deleteContainer(id);
      } catch (error) {
        this.#log.warn('Failed to delete container', { containerID: id, err: error });
      }
      this.#ids.delete(id);
    }
    this.#underWay--;
  }

  #take(): string | undefined {
    if (this.#next < this.#waiting.length) return this.#waiting[this.#next++];
    this.#waiting = [];
    this.#next = 0;
    return undefined;
  }
}

/**
 * The exited containers of one status. All containers of a pod may exit at once, and each causes a call: every id is
 * returned only once, so the calls together are linear in the number of containers.
 */
class ExitedContainers {
  /** Names of all containers. */
  readonly #names: ReadonlyMap<string, string>;
  /** Ids of dead containers, newest first. */
  readonly #byName = new Map<string, string[]>();

  constructor({ containers }: PodStatus) {
    this.#names = new Map(containers.map(({ id, name }) => [id, name]));
    for (const { id, name, state } of containers.toSorted((a, b) => b.createdAtMs - a.createdAtMs)) {
      if (state !== 'exited') continue;
      const ids = this.#byName.get(name);
      if (ids === undefined) this.#byName.set(name, [id]);
      else ids.push(id);
    }
  }

  /** The containers of the same name as this one beyond the `keep` newest. */
  take(id: string, keep: number): readonly string[] {
    const name = this.#names.get(id);
    return name === undefined ? [] : (this.#byName.get(name)?.splice(keep) ?? []);
  }

  takeAll(): readonly string[] {
    const ids = [...this.#byName.values()].flat();
    this.#byName.clear();
    return ids;
  }
}

const cache = new WeakMap<PodStatus, ExitedContainers>();

function exitedOf(status: PodStatus): ExitedContainers {
  let exited = cache.get(status);
  if (exited === undefined) cache.set(status, (exited = new ExitedContainers(status)));
  return exited;
}
