/**
 * Limits the work of finding a request's route. Who writes routes and sends requests to them chooses how many matches a request is
 * compared with, and all other requests wait meanwhile.
 */

/** Names and values that are compared; some 20 ms of work. */
const MAX_COMPARISONS = 200_000;

/** Routes that are merely ordered, and characters that are looked up, cost this part of a comparison. */
const COMPARISONS_PER_STEP = 0.1;

/** The query parameters of one request, read once, and the work that its routing took. */
export class MatchWork {
  #left = 1;
  #query: { readonly text: string; readonly params: ReadonlyMap<string, string> } | undefined;

  /** Whether the limit was exceeded, which makes the result meaningless. */
  get isSpent(): boolean {
    return this.#left < 0;
  }

  /** Whether the limit permits another expression. `share` is a fraction of the work that one expression may take. */
  take(share: number): boolean {
    this.#left -= share;
    return !this.isSpent;
  }

  /** Whether the limit permits the comparisons of names and values. */
  compare(count: number): boolean {
    return this.take(count / MAX_COMPARISONS);
  }

  /** Whether the limit permits steps that cost less than a comparison. */
  step(count: number): boolean {
    return this.compare(count * COMPARISONS_PER_STEP);
  }

  /** The first value of each query parameter. */
  queryParams(text: string): ReadonlyMap<string, string> {
    if (this.#query?.text !== text) this.#query = { text, params: firstValues(new URLSearchParams(text)) };
    return this.#query.params;
  }
}

function firstValues(pairs: Iterable<[string, string]>): ReadonlyMap<string, string> {
  const first = new Map<string, string>();
  for (const [name, value] of pairs) if (!first.has(name)) first.set(name, value);
  return first;
}
