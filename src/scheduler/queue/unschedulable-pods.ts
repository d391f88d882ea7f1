/**
 * Pods that wait for an event, indexed by the plugins that rejected them, so that an event is compared only with pods
 * whose plugins registered for it. Upstream: backend/queue.unschedulablePods, which compares pod by pod.
 */

/** A waiting pod; `rejectedBy` must not change while it waits. */
export interface RejectedPod {
  readonly rejectedBy: ReadonlySet<string>;
}

/** The pods, by uid. */
export class UnschedulablePods<T extends RejectedPod> {
  readonly #byUid = new Map<string, T>();
  readonly #byPlugin = new Map<string, Map<string, T>>();

  get size(): number {
    return this.#byUid.size;
  }

  get(uid: string): T | undefined {
    return this.#byUid.get(uid);
  }

  set(uid: string, pod: T): void {
    this.delete(uid);
    this.#byUid.set(uid, pod);
    for (const plugin of pod.rejectedBy) {
      let group = this.#byPlugin.get(plugin);
      if (group === undefined) this.#byPlugin.set(plugin, (group = new Map()));
      group.set(uid, pod);
    }
  }

  delete(uid: string): void {
    const pod = this.#byUid.get(uid);
    if (pod === undefined) return;
    this.#byUid.delete(uid);
    for (const plugin of pod.rejectedBy) {
      const group = this.#byPlugin.get(plugin);
      group?.delete(uid);
      if (group?.size === 0) this.#byPlugin.delete(plugin);
    }
  }

  /** All pods, longest waiting first. They may be deleted during the iteration. */
  entries(): IterableIterator<[uid: string, pod: T]> {
    return this.#byUid.entries();
  }

  /** The rejecting plugins with their pods. They may be deleted during the iteration. */
  groups(): IterableIterator<[plugin: string, pods: ReadonlyMap<string, T>]> {
    return this.#byPlugin.entries();
  }
}
