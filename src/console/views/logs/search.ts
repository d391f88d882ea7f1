/** Finds the lines that contain a text. Long logs are searched in slices, so that the page stays responsive. */
import type { LogBuffer } from './log-buffer.ts';

/** The number of lines searched in one slice. */
const SLICE = 20_000;
/** The limit of matches marked in one line. */
const MOST_MARKS = 1000;

export class LogSearch {
  #pattern: RegExp | undefined;
  /** Numbers of matching lines, ascending. */
  #matches: number[] = [];
  /** The number of the first line that is not searched yet. */
  #next = 0;

  /** Starts a new search; '' finds nothing. */
  set(text: string): void {
    this.#pattern = text === '' ? undefined : patternOf(text);
    this.reset();
  }

  reset(): void {
    this.#matches = [];
    this.#next = 0;
  }

  get active(): boolean {
    return this.#pattern !== undefined;
  }

  /** Numbers of the matching lines found so far, without dropped lines. */
  get matches(): readonly number[] {
    return this.#matches;
  }

  /** Searches lines from the number `changedFrom` on. Returns false when more lines are left. */
  advance(buffer: LogBuffer, changedFrom: number): boolean {
    if (this.#pattern === undefined) return true;
    if (changedFrom < this.#next) {
      this.#next = changedFrom;
      this.#matches = this.#matches.filter((number) => number < changedFrom);
    }
    const { dropped, length } = buffer;
    if ((this.#matches[0] ?? dropped) < dropped)
      this.#matches = this.#matches.slice(firstAtLeast(this.#matches, dropped));
    this.#next = Math.max(this.#next, dropped);
    const end = Math.min(dropped + length, this.#next + SLICE);
    for (; this.#next < end; this.#next++)
      if (this.#pattern.test(buffer.at(this.#next - dropped).text)) this.#matches.push(this.#next);
    return this.#next >= dropped + length;
  }
}

/** The index of the first number that is at least this, in an ascending list. */
export function firstAtLeast(numbers: readonly number[], least: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A pattern of the literal text that ignores case. */
function patternOf(text: string, flags = 'iu'): RegExp {
  return new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags);
}

/** The places of a text in a line, up to the limit of marks. */
export function marksIn(line: string, text: string): readonly { readonly start: number; readonly end: number }[] {
  if (text === '') return [];
  const marks: { readonly start: number; readonly end: number }[] = [];
  for (const { index, 0: found } of line.matchAll(patternOf(text, 'giu'))) {
    marks.push({ start: index, end: index + found.length });
    if (marks.length === MOST_MARKS) break;
  }
  return marks;
}
