/**
 * Lists in which order does not matter: sets, and lists of objects that keys tell apart. What stands left of `==` and `+`
 * decides. Upstream: apiserver/pkg/cel/common/values.go (unstructuredSetList, unstructuredMapList); there a sum of sets
 * changes what its left operand is compared with afterwards, which is not done here.
 */
import { walkWork } from '../meter.ts';

/** What tells an item from others; undefined for what can be no item of the list. */
export type KeyOf = (item: unknown) => string | undefined;

/** A list with a key for each item. */
export class KeyedList extends Array<unknown> {
  // Methods that make lists make plain ones.
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  #keyOf: KeyOf = () => undefined;
  /** Positions by key, once they are asked for. */
  #positions: Map<string, number> | undefined;

  static withKeys(items: Iterable<unknown>, keyOf: KeyOf): KeyedList {
    const list = new KeyedList();
    list.#keyOf = keyOf;
    for (const item of items) list.push(item);
    return list;
  }

  /** Whether another list has the same items, which `areEqual` compares, in any order. */
  equals(other: readonly unknown[], areEqual: (a: unknown, b: unknown) => boolean): boolean {
    if (this.length !== other.length) return false;
    for (const item of other) {
      walkWork(1);
      const position = this.#positionOf(item);
      if (position === undefined || !areEqual(this[position], item)) return false;
    }
    return true;
  }

  /** Items of another list stand in the place of those with the same key, new ones behind. */
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
