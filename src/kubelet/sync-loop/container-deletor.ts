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
    const exited = exitedOf(status);
    const ids = podWorkers.shouldPodContentBeRemoved(podUid) ? exited.takeAll() : exited.take(exitedContainerId, keep);
    for (const id of ids) queue.add(id);
  };
}

/** Each container is asked for once, and few at a time: a pod of many containers ends them all in one moment. */
class DeletionQueue {
  readonly #log: Log;
  readonly #runtime: ContainerDeletorDeps['runtime'];
  /** Waiting and under way. */
  readonly #ids = new Set<string>();
  #waiting: string[] = [];
  /** Place of the next one in `#waiting`: a shift would move all that wait. */
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
 * The dead containers of one status. All containers of a pod may end in one moment, and each asks: what was taken is not given
 * again, so all of them together take as many steps as there are containers.
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

  /** Those of the same name as this container beyond the `keep` newest. */
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

const known = new WeakMap<PodStatus, ExitedContainers>();

function exitedOf(status: PodStatus): ExitedContainers {
  let exited = known.get(status);
  if (exited === undefined) known.set(status, (exited = new ExitedContainers(status)));
  return exited;
}
