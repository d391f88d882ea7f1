/**
 * Pods that wait for an event, found by who rejected them too: of thousands that wait, an event is held against those alone
 * whose rejecting plugins want its like. Upstream: backend/queue.unschedulablePods, which is asked pod by pod.
 */

/** What is known of a pod here; `rejectedBy` must not change while it waits. */
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

  /** All of them, longest waiting first. They may be deleted meanwhile. */
  entries(): IterableIterator<[uid: string, pod: T]> {
    return this.#byUid.entries();
  }

  /** Plugins that rejected pods which wait, with these pods. They may be deleted meanwhile. */
  groups(): IterableIterator<[plugin: string, pods: ReadonlyMap<string, T>]> {
    return this.#byPlugin.entries();
  }
}
