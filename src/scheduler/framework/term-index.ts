/**
 * Terms that running pods have, by what they ask, with the number of such pods by topology value: kept up to date from the
 * nodes that changed. Pods of one template share a term, so a look at a few terms does for thousands of pods.
 */
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import type { NodeTracker } from '../cache/node-tracker.ts';

/** A term of a running pod. Equal `id`s mean equal terms. */
export interface IndexedTerm<T> {
  readonly id: string;
  readonly topologyKey: string;
  readonly term: T;
}

/** All pods with an equal term. */
export interface TermEntry<T> {
  readonly topologyKey: string;
  readonly term: T;
  /** Pods by topology value; never 0. Shared, not to be changed. */
  readonly values: ReadonlyMap<string, number>;
}

interface Entry<T> extends TermEntry<T> {
  readonly values: Map<string, number>;
}
interface Contribution {
  readonly id: string;
  readonly value: string;
}

/** The index over one cache. */
export class TermIndex<T> {
  readonly #termsOn: (node: NodeInfo) => Iterable<IndexedTerm<T>>;
  readonly #entries = new Map<string, Entry<T>>();
  /** By slot. */
  #contributions: (readonly Contribution[] | undefined)[] = [];
  #tracker: NodeTracker<NodeInfo> | undefined;
  #sequence = 0;

  constructor(termsOn: (node: NodeInfo) => Iterable<IndexedTerm<T>>) {
    this.#termsOn = termsOn;
  }

  /** What there is now; good until the next change of a node. */
  entries({ tracker }: Snapshot): Iterable<TermEntry<T>> {
    const known = this.#tracker === tracker;
    if (!known) this.#forget(tracker);
    const visit = (slot: number): void => this.#visit(slot, tracker);
    if (!known || !tracker.changesSince(this.#sequence, visit))
      for (let slot = 0; slot < tracker.infos.length; slot++) visit(slot);
    this.#sequence = tracker.sequence;
    return this.#entries.values();
  }

  #forget(tracker: NodeTracker<NodeInfo>): void {
    this.#tracker = tracker;
    this.#entries.clear();
    this.#contributions = [];
  }

  #visit(slot: number, tracker: NodeTracker<NodeInfo>): void {
    for (const { id, value } of this.#contributions[slot] ?? []) this.#subtract(id, value);
    this.#contributions[slot] = undefined;
    const node = tracker.infos[slot];
    if (node === undefined || node.podsWithAffinity.size === 0) return;
    const own: Contribution[] = [];
    for (const indexed of this.#termsOn(node)) {
      const value = node.node.metadata.labels?.[indexed.topologyKey];
      if (value === undefined) continue;
      this.#add(indexed, value);
      own.push({ id: indexed.id, value });
    }
    if (own.length > 0) this.#contributions[slot] = own;
  }

  #add({ id, topologyKey, term }: IndexedTerm<T>, value: string): void {
    let entry = this.#entries.get(id);
    if (entry === undefined) this.#entries.set(id, (entry = { topologyKey, term, values: new Map() }));
    entry.values.set(value, (entry.values.get(value) ?? 0) + 1);
  }

  #subtract(id: string, value: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const left = (entry.values.get(value) ?? 0) - 1;
    if (left > 0) entry.values.set(value, left);
    else entry.values.delete(value);
    if (entry.values.size === 0) this.#entries.delete(id);
  }
}
