/**
 * A request's place among those being served: its seats of priority and fairness, or one of the requests in flight.
 *
 * A request that waits for room in a budget of bytes gives its place back meanwhile, so that others are served. Then it takes
 * the place at once, though there may be more than the limit for a moment: nobody waits for a place while holding bytes, nor
 * for bytes while holding a place. Upstream: none; its requests wait for nothing but seats.
 */
export abstract class Place {
  #isWaiting = false;
  #hasLeft = false;

  /** Frees what is held. */
  protected abstract release(): void;
  /** Takes it again, whatever the limits. */
  protected abstract retake(): void;
  /** The request has been served. */
  protected abstract ended(): void;

  /** Gives it back, once. */
  leave(): void {
    this.#hasLeft = true;
    this.ended();
    if (!this.#isWaiting) this.release();
  }

  /** Waits without it. A request that ends meanwhile, for its time is over, takes nothing again. */
  async waitFor<T>(waiting: Promise<T>): Promise<T> {
    if (this.#isWaiting || this.#hasLeft) return await waiting;
    this.#isWaiting = true;
    this.release();
    try {
      return await waiting;
    } finally {
      this.#isWaiting = false;
      if (!this.#hasLeft) this.retake();
    }
  }
}
