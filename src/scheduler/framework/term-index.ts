/**
 * Terms that running pods have, by what they ask, with the number of such pods by topology value: kept up to date from the
 * pods that came, went or changed on the nodes that changed. Pods of one template share a term, so a look at a few terms does
 * for thousands of pods. Terms are found by a label their selector requires, so a pod meets only terms that may match it.
 */
import type { LabelMatcher, Labels } from '../../api/label-selector.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { deepEqual } from '../../base/equal.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import type { NodeTracker } from '../cache/node-tracker.ts';
import { keysOfLabels, keysOfSelector } from './selector-keys.ts';

/** A term of a running pod. Equal `id`s mean equal terms. */
export interface IndexedTerm<T> {
  readonly id: string;
  readonly topologyKey: string;
  readonly selector: LabelMatcher;
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
  /** Where the entry stands in `#byKey`. */
  readonly keys: readonly string[];
}
interface Contribution {
  readonly id: string;
  readonly value: string;
}
interface PodContributions {
  readonly pod: Stored<Pod>;
  readonly terms: readonly Contribution[];
}
interface NodeContributions {
  readonly labels: Labels;
  readonly pods: Map<string, PodContributions>;
}

/** Which pods of a node have terms, and the terms of one. */
export interface TermSource<T> {
  podsOn(node: NodeInfo): ReadonlyMap<string, Stored<Pod>>;
  termsOf(pod: Stored<Pod>, uid: string): Iterable<IndexedTerm<T>>;
}

/** The index over one cache. */
export class TermIndex<T> {
  readonly #source: TermSource<T>;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #byKey = new Map<string, Set<Entry<T>>>();
  /** By slot. */
  #contributions: (NodeContributions | undefined)[] = [];
  #tracker: NodeTracker<NodeInfo> | undefined;
  #sequence = 0;

  constructor(source: TermSource<T>) {
    this.#source = source;
  }

  /** The terms whose selector may match the labels; good until the next change of a node. */
  *candidates(snapshot: Snapshot, labels: Labels): Iterable<TermEntry<T>> {
    this.#catchUp(snapshot);
    for (const key of keysOfLabels(labels)) yield* this.#byKey.get(key) ?? [];
  }

  #catchUp({ tracker }: Snapshot): void {
    const known = this.#tracker === tracker;
    if (!known) this.#forget(tracker);
    const visit = (slot: number): void => this.#visit(slot, tracker);
    if (!known || !tracker.changesSince(this.#sequence, visit))
      for (let slot = 0; slot < tracker.infos.length; slot++) visit(slot);
    this.#sequence = tracker.sequence;
  }

  #forget(tracker: NodeTracker<NodeInfo>): void {
    this.#tracker = tracker;
    this.#entries.clear();
    this.#byKey.clear();
    this.#contributions = [];
  }

  #visit(slot: number, tracker: NodeTracker<NodeInfo>): void {
    const node = tracker.infos[slot];
    const pods = node === undefined ? new Map<string, Stored<Pod>>() : this.#source.podsOn(node);
    const labels = node?.node.metadata.labels;
    let known = this.#contributions[slot];
    if (known === undefined && pods.size === 0) return;
    const moved = known !== undefined && known.labels !== labels && !deepEqual(known.labels, labels);
    for (const [uid, { pod, terms }] of known?.pods ?? []) {
      const now = pods.get(uid);
      if (!moved && now !== undefined && hasEqualTerms(pod, now)) continue;
      for (const { id, value } of terms) this.#subtract(id, value);
      known?.pods.delete(uid);
    }
    if (known === undefined || moved) known = { labels, pods: new Map() };
    this.#contributions[slot] = pods.size === 0 ? undefined : known;
    for (const [uid, pod] of pods)
      if (!known.pods.has(uid)) known.pods.set(uid, { pod, terms: this.#addPod(pod, uid, labels) });
  }

  #addPod(pod: Stored<Pod>, uid: string, labels: Labels): Contribution[] {
    const own: Contribution[] = [];
    for (const indexed of this.#source.termsOf(pod, uid)) {
      const value = labels?.[indexed.topologyKey];
      if (value === undefined) continue;
      this.#add(indexed, value);
      own.push({ id: indexed.id, value });
    }
    return own;
  }

  #add({ id, topologyKey, selector, term }: IndexedTerm<T>, value: string): void {
    let entry = this.#entries.get(id);
    if (entry === undefined) {
      this.#entries.set(id, (entry = { topologyKey, term, values: new Map(), keys: keysOfSelector(selector) }));
      for (const key of entry.keys) {
        const place = this.#byKey.get(key);
        if (place === undefined) this.#byKey.set(key, new Set([entry]));
        else place.add(entry);
      }
    }
    entry.values.set(value, (entry.values.get(value) ?? 0) + 1);
  }

  #subtract(id: string, value: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const left = (entry.values.get(value) ?? 0) - 1;
    if (left > 0) entry.values.set(value, left);
    else entry.values.delete(value);
    if (entry.values.size > 0) return;
    this.#entries.delete(id);
    for (const key of entry.keys) {
      const place = this.#byKey.get(key);
      place?.delete(entry);
      if (place?.size === 0) this.#byKey.delete(key);
    }
  }
}

/** A new version of a pod, mostly of its status, has the terms it had. Parts that are shared cost nothing to compare. */
function hasEqualTerms(old: Pod, now: Pod): boolean {
  return (
    old === now ||
    (deepEqual(old.metadata.labels, now.metadata.labels) && deepEqual(old.spec?.affinity, now.spec?.affinity))
  );
}
