/** The listeners to a cache's changes: of all changes, or of those with a certain value of one field. */
import type { CacheEvent } from './cache-event.ts';
import type { RevisionCell } from './revision-cell.ts';

/** Called with the changes of one commit. */
export type CacheListener = (events: readonly CacheEvent[]) => void;

/**
 * Restricts a listener to changes of objects whose field has, or had, this value. Without it each of 5,000 kubelets would
 * check every change of every pod. Upstream: the cacher's trigger functions.
 */
export interface ListenerTrigger {
  /** The name of the field; equal names must read the same field. */
  readonly field: string;
  readonly value: string;
  valueOf(cell: RevisionCell): string | undefined;
}

interface TriggerIndex<T> {
  readonly valueOf: (cell: RevisionCell) => string | undefined;
  readonly byValue: Map<string, Set<T>>;
}

/** The listeners of one cache in the order of registration. */
export class Listeners<T> {
  readonly #all = new Set<T>();
  readonly #triggers = new Map<string, TriggerIndex<T>>();

  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The result removes it. */
  add(listener: T, trigger: ListenerTrigger | undefined): () => void {
    this.#size++;
    if (trigger === undefined) {
      this.#all.add(listener);
      return () => this.#left(this.#all.delete(listener));
    }
    const { field, value } = trigger;
    let index = this.#triggers.get(field);
    if (index === undefined)
      this.#triggers.set(field, (index = { valueOf: trigger.valueOf.bind(trigger), byValue: new Map() }));
    let listeners = index.byValue.get(value);
    if (listeners === undefined) index.byValue.set(value, (listeners = new Set()));
    listeners.add(listener);
    return () => this.#leave(field, value, listener);
  }

  #leave(field: string, value: string, listener: T): void {
    const index = this.#triggers.get(field);
    const listeners = index?.byValue.get(value);
    if (listeners?.delete(listener) !== true) return;
    this.#left(true);
    if (listeners.size > 0) return;
    index!.byValue.delete(value);
    if (index!.byValue.size === 0) this.#triggers.delete(field);
  }

  #left(wasThere: boolean): void {
    if (wasThere) this.#size--;
  }

  /** Calls back for each listener with its changes. */
  visit(changes: readonly CacheEvent[], call: (listener: T, concerned: readonly CacheEvent[]) => void): void {
    for (const listener of this.#all) call(listener, changes);
    for (const index of this.#triggers.values()) {
      const [only] = changes;
      if (changes.length > 1 || only === undefined)
        for (const [listener, concerned] of concernedByMany(index, changes)) call(listener, concerned);
      else
        for (const value of valuesOf(index.valueOf, only))
          for (const listener of index.byValue.get(value) ?? []) call(listener, changes);
    }
  }

  /**
   * The same for gradual dispatch: each listener with its changes. Listeners that are added or removed in the
   * meantime may be included. Throws at once when a field cannot be read.
   */
  concerned(changes: readonly CacheEvent[]): Iterator<ListenerChanges<T>> {
    if (this.#triggers.size === 0) return changesByListener(changes, [this.#all]);
    const [only] = changes;
    const indices = [...this.#triggers.values()];
    if (changes.length > 1 || only === undefined)
      return changesByListener(
        changes,
        [this.#all],
        indices.flatMap((index) => [...concernedByMany(index, changes)]),
      );
    const sets = indices.flatMap(({ valueOf, byValue }) => valuesOf(valueOf, only).map((value) => byValue.get(value)));
    return changesByListener(changes, [this.#all, ...sets]);
  }
}

/** A listener and the changes it is to receive. */
export type ListenerChanges<T> = readonly [T, readonly CacheEvent[]];

function* changesByListener<T>(
  changes: readonly CacheEvent[],
  sets: readonly (ReadonlySet<T> | undefined)[],
  more: readonly ListenerChanges<T>[] = [],
): Generator<ListenerChanges<T>> {
  for (const listeners of sets) for (const listener of listeners ?? []) yield [listener, changes];
  yield* more;
}

/** The new value of the field, and the old one if different. */
function valuesOf(valueOf: ListenerTrigger['valueOf'], { cell, previous }: CacheEvent): string[] {
  const now = valueOf(cell) ?? '';
  const before = previous === undefined ? now : (valueOf(previous) ?? '');
  return before === now ? [now] : [now, before];
}

function concernedByMany<T>(
  { valueOf, byValue }: TriggerIndex<T>,
  changes: readonly CacheEvent[],
): Map<T, CacheEvent[]> {
  const concerned = new Map<T, CacheEvent[]>();
  for (const change of changes)
    for (const value of valuesOf(valueOf, change))
      for (const listener of byValue.get(value) ?? []) {
        const list = concerned.get(listener);
        if (list === undefined) concerned.set(listener, [change]);
        else list.push(change);
      }
  return concerned;
}
