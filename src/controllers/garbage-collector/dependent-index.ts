/** Dependents by the uid of their owner, whether the owner was observed or not. */

/** The common case of one dependent is stored without a set. */
export class DependentIndex<T extends object> {
  readonly #byOwner = new Map<string, T | Set<T>>();

  /** In the order in which they were added. */
  of(uid: string): Iterable<T> {
    const found = this.#byOwner.get(uid);
    if (found === undefined) return [];
    return found instanceof Set ? found : [found];
  }

  add(uid: string, dependent: T): void {
    const found = this.#byOwner.get(uid);
    if (found === undefined) this.#byOwner.set(uid, dependent);
    else if (found instanceof Set) found.add(dependent);
    else if (found !== dependent) this.#byOwner.set(uid, new Set([found, dependent]));
  }

  remove(uid: string, dependent: T): void {
    const found = this.#byOwner.get(uid);
    if (found instanceof Set) found.delete(dependent);
    if (found === dependent || (found instanceof Set && found.size === 0)) this.#byOwner.delete(uid);
  }
}
