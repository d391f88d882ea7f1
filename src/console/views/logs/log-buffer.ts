/** The newest lines of several logs in the order of their times, limited in number and size. */
import type { Span } from './ansi.ts';

/** One line, which is immutable. */
export interface LogLine {
  /** The index of the log among those that are followed. */
  readonly source: number;
  /** Milliseconds since 1970 with a fraction; 0 when unknown. */
  readonly timeMs: number;
  readonly text: string;
  readonly spans: readonly Span[];
  /** Whether each character of the text is one column wide. */
  readonly plain: boolean;
}

export const MOST_LINES = 100_000;
/** The limit of characters of all lines, some 64 MB. */
const MOST_CHARACTERS = 32_000_000;
/** The overhead of a line, in characters. */
const LINE_COST = 40;
/** The number of dropped lines that may stay in the array before it is compacted. */
const SLACK = 10_000;

export interface BufferLimits {
  readonly lines: number;
  readonly characters: number;
}

export class LogBuffer {
  readonly #limits: BufferLimits;
  #lines: (LogLine | undefined)[] = [];
  /** The index of the first line in `#lines`. */
  #first = 0;
  #characters = 0;
  #dropped = 0;
  #changedFrom = 0;

  constructor(limits: BufferLimits = { lines: MOST_LINES, characters: MOST_CHARACTERS }) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#lines.length - this.#first;
  }

  /** The number of dropped older lines. A line's number is this plus its index, so it stays the same when others are dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  at(index: number): LogLine {
    return this.#lines[this.#first + index]!;
  }

  /** Inserts lines by time. Lines of one log keep their order. */
  add(batch: readonly LogLine[]): void {
    if (batch.length === 0) return;
    const sorted = batch.toSorted((a, b) => a.timeMs - b.timeMs);
    for (const line of sorted) this.#characters += line.text.length + LINE_COST;
    const at = this.#placeOf(sorted[0]!.timeMs);
    this.#changedFrom = Math.min(this.#changedFrom, this.#dropped + at);
    const later = this.#lines.splice(this.#first + at) as LogLine[];
    for (const line of merged(later, sorted)) this.#lines.push(line);
    this.#drop();
  }

  /** The number of the first line that was added since the last call, for values derived from lines. */
  takeChanged(): number {
    const from = Math.max(this.#changedFrom, this.#dropped);
    this.#changedFrom = this.#dropped + this.length;
    return from;
  }

  clear(): void {
    this.#lines = [];
    this.#first = this.#characters = this.#dropped = this.#changedFrom = 0;
  }

  /** The index after all lines of this time or earlier. */
  #placeOf(timeMs: number): number {
    let low = 0;
    let high = this.length;
    if (high === 0 || this.at(high - 1).timeMs <= timeMs) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle).timeMs <= timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #drop(): void {
    while (this.length > this.#limits.lines || (this.#characters > this.#limits.characters && this.length > 1)) {
      this.#characters -= this.at(0).text.length + LINE_COST;
      this.#lines[this.#first++] = undefined;
      this.#dropped++;
    }
    if (this.#first < SLACK) return;
    this.#lines.splice(0, this.#first);
    this.#first = 0;
  }
}

function* merged(a: readonly LogLine[], b: readonly LogLine[]): Generator<LogLine> {
  let at = 0;
  for (const line of b) {
    while (at < a.length && a[at]!.timeMs <= line.timeMs) yield a[at++]!;
    yield line;
  }
  for (; at < a.length; at++) yield a[at]!;
}
