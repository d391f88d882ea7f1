/** Which lines contain a text. Long logs are searched a slice at a time, so that the page stays usable. */
import type { LogBuffer } from './log-buffer.ts';

/** Lines searched in one slice. */
const SLICE = 20_000;
/** Matches marked in one line. */
const MOST_MARKS = 1000;

export class LogSearch {
  #pattern: RegExp | undefined;
  /** Numbers of lines, ascending. */
  #matches: number[] = [];
  /** The number of the first line that is not searched yet. */
  #next = 0;

  /** Begins anew; '' finds nothing. */
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

  /** Numbers of the lines found so far, those of dropped lines left out. */
  get matches(): readonly number[] {
    return this.#matches;
  }

  /** Takes in lines from number `changedFrom` on; false: there is more to be searched. */
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

/** Capital or not is the same. */
function patternOf(text: string, flags = 'iu'): RegExp {
  return new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags);
}

/** Where a text stands in a line, as far as matches are marked. */
export function marksIn(line: string, text: string): readonly { readonly start: number; readonly end: number }[] {
  if (text === '') return [];
  const marks: { readonly start: number; readonly end: number }[] = [];
  for (const { index, 0: found } of line.matchAll(patternOf(text, 'giu'))) {
    marks.push({ start: index, end: index + found.length });
    if (marks.length === MOST_MARKS) break;
  }
  return marks;
}
