/**
 * What finding the route of one request may cost. An expression is bounded by itself (`patterns.ts`), but a request may be
 * tried against thousands of them: together they may take as much as one.
 */

/** What one request is matched by, read once. */
export class MatchWork {
  #left = 1;
  #query: { readonly text: string; readonly params: URLSearchParams } | undefined;

  /** The work was too much: what was found, or not, says nothing. */
  get isSpent(): boolean {
    return this.#left < 0;
  }

  /** Whether the expression may still be tried. `share`: of what one expression may take at most. */
  take(share: number): boolean {
    this.#left -= share;
    return !this.isSpent;
  }

  queryParams(text: string): URLSearchParams {
    if (this.#query?.text !== text) this.#query = { text, params: new URLSearchParams(text) };
    return this.#query.params;
  }
}
