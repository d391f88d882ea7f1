/** Certificate requests that wait for a change of a node: others are not read again whenever some node changes. */

export class WaitingRequests {
  /** The node that each request waits for, by the request's name. */
  readonly #nodeOf = new Map<string, string>();

  add(request: string, node: string): void {
    this.#nodeOf.set(request, node);
  }

  delete(request: string): void {
    this.#nodeOf.delete(request);
  }

  /** The requests that wait for the node. They wait no more. */
  takeOf(node: string): string[] {
    const requests = [...this.#nodeOf].filter(([, awaited]) => awaited === node).map(([request]) => request);
    for (const request of requests) this.#nodeOf.delete(request);
    return requests;
  }
}
