/** Sends values one at a time. Of the values offered during a send only the last is sent. */
export class LatestSender<T> {
  readonly #send: (value: T) => Promise<void>;
  readonly #onFailure: (error: unknown) => void;
  #next: { readonly value: T } | undefined;
  #isSending = false;

  /** After a failure, the next offered value is sent. */
  constructor(send: (value: T) => Promise<void>, onFailure: (error: unknown) => void) {
    this.#send = send;
    this.#onFailure = onFailure;
  }

  get isSending(): boolean {
    return this.#isSending;
  }

  offer(value: T): void {
    this.#next = { value };
    if (!this.#isSending) this.#sendAll().catch(this.#onFailure);
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    try {
      for (let next = this.#next; next !== undefined; next = this.#next) {
        this.#next = undefined;
        await this.#send(next.value);
      }
    } finally {
      this.#isSending = false;
    }
  }
}
