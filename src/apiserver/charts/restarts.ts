/**
 * Restarts of containers, as the pods' statuses say. Pods that crash have no running container most of the time, and kubelets
 * leave such pods out of their summaries.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import type { ObjectStore } from '../registry/object-store.ts';

export interface PodRestarts {
  readonly pod: Stored<Pod>;
  readonly count: number;
}

export class Restarts {
  #byPod = new Map<string, PodRestarts>();
  readonly stop: () => void;

  /** Counts from now on, until it is stopped. */
  constructor(objects: ObjectStore) {
    this.stop = objects.onChange(Pods, (pod, old) => this.#changed(pod, old), { onlyLater: true });
  }

  /** Those since the last call, by the pods' uids. */
  take(): ReadonlyMap<string, PodRestarts> {
    const taken = this.#byPod;
    this.#byPod = new Map();
    return taken;
  }

  #changed(pod: Stored<Pod> | undefined, old: Stored<Pod> | undefined): void {
    if (pod === undefined || old === undefined || pod.metadata.uid !== old.metadata.uid) return;
    const more = restartsOf(pod) - restartsOf(old);
    if (more <= 0) return;
    const { uid } = pod.metadata;
    this.#byPod.set(uid, { pod, count: (this.#byPod.get(uid)?.count ?? 0) + more });
  }
}

function restartsOf({ status }: Pod): number {
  let sum = 0;
  for (const { restartCount } of status?.containerStatuses ?? []) sum += restartCount;
  return sum;
}
