/**
 * An ordered set of strings in chunks of a few hundred: inserting, removing and seeking stay cheap at hundreds of
 * thousands of keys, where one flat array would move megabytes per insertion. Added strings are sorted in when the
 * order is next needed: for most kinds of objects that is seldom. By hand rather than by a B-tree of npm, which would
 * sort at once.
 */
import { compareTexts } from './compare-texts.ts';

const MAX_CHUNK = 512;

/** Strings without code units from the surrogates on: every order of characters agrees with the engine's own, which is far faster. */
const PLAIN_TEXT = /^[\u0000-\ud7ff]*$/;

type Order = (a: string, b: string) => number;

/** Strings in the order of `compare`, which must be that of the code units for strings without any from U+D800 on. */
export class SortedKeys {
  readonly #compare: Order;
  readonly #chunks: string[][] = [];
  /** Strings that are not yet in a chunk. */
  #added: string[] = [];
  /** Whether every string that was ever placed matches PLAIN_TEXT. */
  #isPlain = true;

  constructor(compare: Order) {
    this.#compare = compare;
  }

  /** Replaces all strings by these, each once and in any order. Faster than adding one by one. */
  replace(keys: readonly string[]): void {
    this.#added = [];
    this.#isPlain = keys.every((key) => PLAIN_TEXT.test(key));
    // The engine's own order, without a function, is that of the code units.
    const sorted = this.#isPlain ? keys.toSorted() : keys.toSorted(this.#compare);
    this.#chunks.length = 0;
    for (let at = 0; at < sorted.length; at += MAX_CHUNK / 2) this.#chunks.push(sorted.slice(at, at + MAX_CHUNK / 2));
  }

  /** Adds a string that the set does not have. */
  add(key: string): void {
    this.#added.push(key);
  }

  #place(): void {
    const added = this.#added;
    if (added.length === 0) return;
    this.#added = [];
    if (added.length > this.#chunks.length * MAX_CHUNK) this.replace([...this.#chunks.flat(), ...added]);
    else for (const key of added) this.#insert(key);
  }

  #insert(key: string): void {
    this.#isPlain &&= PLAIN_TEXT.test(key);
    const compare = this.#isPlain ? compareTexts : this.#compare;
    const at = Math.min(this.#chunkFor(key, compare), this.#chunks.length - 1);
    const chunk = this.#chunks[at]!;
    chunk.splice(lowerBound(chunk, key, compare), 0, key);
    if (chunk.length > MAX_CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(MAX_CHUNK / 2));
  }

  /** False when the key was not there. */
  delete(key: string): boolean {
    this.#place();
    const compare = this.#orderFor(key);
    const at = this.#chunkFor(key, compare);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return false;
    const index = lowerBound(chunk, key, compare);
    if (chunk[index] !== key) return false;
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    return true;
  }

  /** Keys in [start, end) in order; do not change the set while iterating. */
  *range(start: string, end: string): IterableIterator<string> {
    this.#place();
    const [from, compare] = [this.#orderFor(start), this.#orderFor(end)];
    let at = this.#chunkFor(start, from);
    let index = at < this.#chunks.length ? lowerBound(this.#chunks[at]!, start, from) : 0;
    for (; at < this.#chunks.length; at++, index = 0) {
      const chunk = this.#chunks[at]!;
      const whole = compare(chunk.at(-1)!, end) < 0;
      for (; index < chunk.length; index++) {
        const key = chunk[index]!;
        if (!whole && compare(key, end) >= 0) return;
        yield key;
      }
    }
  }

  /** The first chunk whose last key is not before `key`; the number of chunks when there is none. */
  #chunkFor(key: string, compare: Order): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(this.#chunks[middle]!.at(-1)!, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #orderFor(key: string): Order {
    return this.#isPlain && PLAIN_TEXT.test(key) ? compareTexts : this.#compare;
  }
}

function lowerBound(chunk: readonly string[], key: string, compare: Order): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(chunk[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
