/**
 * Finds texts in texts in linear time. JavaScript's own search takes the product of both lengths where what is sought
 * repeats itself: seconds for texts that a request can carry. Upstream: Go's strings.Index, which is linear.
 */

/** For what is shorter, JavaScript's own search is fast whatever the texts. */
const SHORT = 64;

/** The first index of a part at or behind a position; -1: absent. */
export function indexIn(text: string, part: string, from = 0): number {
  return part.length <= SHORT ? text.indexOf(part, from) : new Search(part).next(text, from);
}

/** The last index of a part at or before a position; -1: absent. */
export function lastIndexIn(text: string, part: string, from: number): number {
  if (part.length <= SHORT) return text.lastIndexOf(part, from);
  const head = text.slice(0, from + part.length);
  const index = indexIn(reversed(head), reversed(part));
  return index < 0 ? -1 : head.length - index - part.length;
}

/** The texts between the occurrences of `part`, which is not empty. */
export function splitAt(text: string, part: string): string[] {
  if (part.length <= SHORT) return text.split(part);
  const search = new Search(part);
  const pieces: string[] = [];
  let start = 0;
  for (let index = search.next(text, 0); index >= 0; index = search.next(text, start)) {
    pieces.push(text.slice(start, index));
    start = index + part.length;
  }
  return [...pieces, text.slice(start)];
}

function reversed(text: string): string {
  const units = Buffer.from(text, 'utf16le');
  return units.swap16().reverse().toString('utf16le');
}

/** Knuth, Morris and Pratt's search. */
class Search {
  readonly #part: string;
  /** For each length of what was matched, how much of it still is a beginning when the next unit does not fit. */
  readonly #shorter: Int32Array;

  constructor(part: string) {
    this.#part = part;
    this.#shorter = new Int32Array(part.length);
    for (let at = 1, length = 0; at < part.length; at++) {
      length = this.#matched(length, part.charCodeAt(at));
      this.#shorter[at] = length;
    }
  }

  next(text: string, from: number): number {
    let length = 0;
    for (let at = from; at < text.length; at++) {
      length = this.#matched(length, text.charCodeAt(at));
      if (length === this.#part.length) return at - length + 1;
    }
    return -1;
  }

  /** How much is matched behind one more unit. */
  #matched(before: number, unit: number): number {
    let length = before;
    while (length > 0 && this.#part.charCodeAt(length) !== unit) length = this.#shorter[length - 1]!;
    return this.#part.charCodeAt(length) === unit ? length + 1 : length;
  }
}
