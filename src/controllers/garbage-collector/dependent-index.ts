/** Who names an owner, by the owner's uid, whether the owner was seen or not. */
import type { GraphNode } from './graph.ts';

/** Most owners that were not seen have one dependent, which needs no set. */
export class DependentIndex {
  readonly #byOwner = new Map<string, GraphNode | Set<GraphNode>>();

  /** Owners that somebody names. */
  get size(): number {
    return this.#byOwner.size;
  }

  /** In the order in which they were added. */
  of(uid: string): Iterable<GraphNode> {
    const found = this.#byOwner.get(uid);
    if (found === undefined) return [];
    return found instanceof Set ? found : [found];
  }

  add(uid: string, dependent: GraphNode): void {
    const found = this.#byOwner.get(uid);
    if (found === undefined) this.#byOwner.set(uid, dependent);
    else if (found instanceof Set) found.add(dependent);
    else if (found !== dependent) this.#byOwner.set(uid, new Set([found, dependent]));
  }

  remove(uid: string, dependent: GraphNode): void {
    const found = this.#byOwner.get(uid);
    if (found instanceof Set) found.delete(dependent);
    if (found === dependent || (found instanceof Set && found.size === 0)) this.#byOwner.delete(uid);
  }
}
