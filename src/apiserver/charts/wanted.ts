/**
 * Which nodes' kubelets are asked for a sample. Up to 500 ready nodes: all of them. In larger clusters, the nodes that were asked for in the last
 * hour and those of the pods and workloads that were, the newest question first, 500 at most.
 */
import { SLOTS } from './timeline.ts';

/** The most nodes whose kubelets are asked for one sample. */
export const MOST_NODES = 500;
/** Beyond it the one asked longest ago is forgotten. */
const MAX_REQUESTED_OBJECTS = 5000;

interface RequestedObject {
  readonly nodes: ReadonlySet<string>;
  slot: number;
}

export class RequestedCharts {
  /** By the object's uid, in the order in which they were last asked. */
  readonly #requested = new Map<string, RequestedObject>();

  /** Called at each request for an object, whose numbers come from these nodes. */
  ask(uid: string, nodes: ReadonlySet<string>, slot: number): void {
    this.#requested.delete(uid);
    this.#requested.set(uid, { nodes, slot });
    if (this.#requested.size <= MAX_REQUESTED_OBJECTS) return;
    for (const oldest of this.#requested.keys()) {
      this.#requested.delete(oldest);
      return;
    }
  }

  has(uid: string): boolean {
    return this.#requested.has(uid);
  }

  /** The nodes to be asked, of those that are ready. */
  nodes(ready: ReadonlySet<string>): { readonly names: readonly string[]; readonly complete: boolean } {
    if (ready.size <= MOST_NODES) return { names: [...ready], complete: true };
    const names = new Set<string>();
    for (const { nodes } of [...this.#requested.values()].reverse()) {
      const more = [...nodes].filter((name) => ready.has(name) && !names.has(name));
      // Part of a workload would be taken for the whole.
      if (names.size + more.length <= MOST_NODES) for (const name of more) names.add(name);
    }
    return { names: [...names], complete: false };
  }

  /** The objects whose nodes were all asked. */
  covered(uid: string, asked: ReadonlySet<string>): boolean {
    return this.#requested.get(uid)?.nodes.isSubsetOf(asked) === true;
  }

  forgetBefore(slot: number): void {
    for (const [uid, question] of this.#requested) if (question.slot <= slot - SLOTS) this.#requested.delete(uid);
  }
}
