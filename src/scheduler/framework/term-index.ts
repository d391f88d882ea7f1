/**
 * An index of running pods' affinity terms, with the number of pods with each term by topology value. It is updated
 * from the nodes that changed. Pods of one template share a term, so few terms stand for thousands of pods. Terms are
 * found by a label that their selector requires, so that a pod is compared only with terms that may match it.
 */
import type { LabelMatcher, Labels } from '../../api/label-selector.ts';
import type { Affinity, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { deepEqual } from '../../base/equal.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import type { NodeTracker } from '../cache/node-tracker.ts';
import { keysOfLabels, keysOfSelector } from './selector-keys.ts';

/** A term of a running pod. Equal ids mean equal terms. */
export interface IndexedTerm<T> {
  readonly id: string;
  readonly topologyKey: string;
  readonly selector: LabelMatcher;
  readonly term: T;
}

/** All pods with the same term. */
export interface TermEntry<T> {
  readonly topologyKey: string;
  readonly term: T;
  /** The number of pods by topology value, never 0. Shared: do not change it. */
  readonly values: ReadonlyMap<string, number>;
}

interface Entry<T> extends TermEntry<T> {
  readonly values: Map<string, number>;
  /** The keys of the entry in `#byKey`. */
  readonly keys: readonly string[];
}
interface Contribution {
  readonly id: string;
  readonly value: string;
}
interface PodContributions {
  /** What the terms were read from. The pod itself would keep alive what others remember of this version of it. */
  readonly labels: Labels;
  readonly affinity: Affinity | undefined;
  readonly terms: readonly Contribution[];
}
interface NodeContributions {
  readonly labels: Labels;
  readonly pods: Map<string, PodContributions>;
}

/** Reads which pods of a node have terms, and the terms of a pod. */
export interface TermSource<T> {
  podsOn(node: NodeInfo): ReadonlyMap<string, Stored<Pod>>;
  termsOf(pod: Stored<Pod>, uid: string): Iterable<IndexedTerm<T>>;
}

/** The index of the pods in one cache. */
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

  /** The terms whose selector may match the labels; valid until the next change of a node. */
  *candidates(snapshot: Snapshot, labels: Labels): Iterable<TermEntry<T>> {
    this.#catchUp(snapshot);
    for (const key of keysOfLabels(labels)) yield* this.#byKey.get(key) ?? [];
  }

  #catchUp({ tracker }: Snapshot): void {
    const isKnown = this.#tracker === tracker;
    if (!isKnown) this.#forget(tracker);
    const visit = (slot: number): void => this.#visit(slot, tracker);
    if (!isKnown || !tracker.changesSince(this.#sequence, visit))
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
    let nodeContributions = this.#contributions[slot];
    if (nodeContributions === undefined && pods.size === 0) return;
    const moved =
      nodeContributions !== undefined &&
      nodeContributions.labels !== labels &&
      !deepEqual(nodeContributions.labels, labels);
    for (const [uid, own] of nodeContributions?.pods ?? []) {
      const now = pods.get(uid);
      if (!moved && now !== undefined && hasEqualTerms(own, now)) continue;
      for (const { id, value } of own.terms) this.#subtract(id, value);
      nodeContributions?.pods.delete(uid);
    }
    if (nodeContributions === undefined || moved) nodeContributions = { labels, pods: new Map() };
    this.#contributions[slot] = pods.size === 0 ? undefined : nodeContributions;
    for (const [uid, pod] of pods) {
      if (nodeContributions.pods.has(uid)) continue;
      const terms = this.#addPod(pod, uid, labels);
      nodeContributions.pods.set(uid, { labels: pod.metadata.labels, affinity: pod.spec?.affinity, terms });
    }
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

/**
 * Whether a pod's new version has the terms of the old one; most updates change the status alone. Parts that are the
 * same object are not compared.
 */
function hasEqualTerms(own: PodContributions, { metadata, spec }: Pod): boolean {
  return deepEqual(own.labels, metadata.labels) && deepEqual(own.affinity, spec?.affinity);
}
