/**
 * Lists of type set, and lists of type map, in which order does not matter. The left operand of `==` and `+` decides the
 * semantics. Upstream: apiserver/pkg/cel/common/values.go (unstructuredSetList, unstructuredMapList). Differs: upstream's sum of
 * sets modifies the left operand for later comparisons.
 */
import { walkWork } from '../meter.ts';

/** The key of an item; undefined for a value that cannot be an item of the list. */
export type KeyOf = (item: unknown) => string | undefined;

/** A list whose items have keys. */
export class KeyedList extends Array<unknown> {
  // Array methods such as map and slice return plain arrays.
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  #keyOf: KeyOf = () => undefined;
  /** Positions by key, computed at the first lookup. */
  #positions: Map<string, number> | undefined;

  static withKeys(items: Iterable<unknown>, keyOf: KeyOf): KeyedList {
    const list = new KeyedList();
    list.#keyOf = keyOf;
    for (const item of items) list.push(item);
    return list;
  }

  /** Whether another list has equal items by `areEqual`, in any order. */
  equals(other: readonly unknown[], areEqual: (a: unknown, b: unknown) => boolean): boolean {
    if (this.length !== other.length) return false;
    for (const item of other) {
      walkWork(1);
      const position = this.#positionOf(item);
      if (position === undefined || !areEqual(this[position], item)) return false;
    }
    return true;
  }

  /** Items of the other list replace those with the same key; new items are appended. */
  plus(other: readonly unknown[]): KeyedList {
    walkWork(this.length + other.length);
    const sum = KeyedList.withKeys(this, this.#keyOf);
    for (const item of other) {
      const key = this.#keyOf(item);
      const position = key === undefined ? undefined : sum.#places.get(key);
      sum[position ?? sum.length] = item;
      if (key !== undefined && position === undefined) sum.#places.set(key, sum.length - 1);
    }
    return sum;
  }

  #positionOf(item: unknown): number | undefined {
    const key = this.#keyOf(item);
    return key === undefined ? undefined : this.#places.get(key);
  }

  get #places(): Map<string, number> {
    if (this.#positions !== undefined) return this.#positions;
    walkWork(this.length);
    const places = new Map<string, number>();
    for (const [position, item] of this.entries()) {
      const key = this.#keyOf(item);
      if (key !== undefined) places.set(key, position);
    }
    return (this.#positions = places);
  }
}
