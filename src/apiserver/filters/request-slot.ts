/**
 * The slot of a request being served: its seats of priority and fairness, or one of the requests in flight.
 * A request that waits for bytes of a budget releases its slot while it waits, so that others are served. Then it takes the slot
 * again at once, although the limit may be exceeded for a moment: no request waits for a slot while it holds bytes, nor for bytes
 * while it holds a slot. Upstream: none; its requests wait only for seats.
 */
export abstract class RequestSlot {
  #isWaiting = false;
  #hasLeft = false;

  /** Frees the seats. */
  protected abstract release(): void;
  /** Takes the seats again, even beyond the limit. */
  protected abstract retake(): void;
  /** The request has been served. */
  protected abstract ended(): void;

  /** Releases the slot for good; call once. */
  leave(): void {
    this.#hasLeft = true;
    this.ended();
    if (!this.#isWaiting) this.release();
  }

  /** Waits without the slot. A request that times out meanwhile does not take it again. */
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
