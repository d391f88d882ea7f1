/**
 * Limits the work of finding a request's route. `patterns.ts` limits a single expression, but a request may be tried against
 * thousands of them; together they may take as much as one.
 */

/** The parts of a request that routes are matched by, each read once. */
export class MatchWork {
  #left = 1;
  #query: { readonly text: string; readonly params: URLSearchParams } | undefined;

  /** Whether the limit was exceeded, which makes the result meaningless. */
  get isSpent(): boolean {
    return this.#left < 0;
  }

  /** Whether the limit permits another expression. `share` is a fraction of the work that one expression may take. */
  take(share: number): boolean {
    this.#left -= share;
    return !this.isSpent;
  }

  queryParams(text: string): URLSearchParams {
    if (this.#query?.text !== text) this.#query = { text, params: new URLSearchParams(text) };
    return this.#query.params;
  }
}
