interface Waiter {
  readonly last: number;
  readonly ended: Promise<void>;
  readonly resolve: () => void;
}

/**
 * Containers and sandboxes being created. Waiting costs the same however many there are: creations are numbered, and
 * a waiter waits for the last one that had begun and all before it.
 */
export class Creations {
  #begun = 0;
  /** In the order in which they began. */
  readonly #underWay = new Set<number>();
  /** In the same order. */
  readonly #waiters: Waiter[] = [];

  async run<T>(create: () => Promise<T>): Promise<T> {
    const number = ++this.#begun;
    this.#underWay.add(number);
    try {
      return await create();
    } finally {
      this.#underWay.delete(number);
      this.#resolve();
    }
  }

  /** Resolves when all creations that have begun have ended, successfully or not; undefined: there are none. */
  ended(): Promise<void> | undefined {
    if (this.#underWay.size === 0) return undefined;
    const newest = this.#waiters.at(-1);
    if (newest?.last === this.#begun) return newest.ended;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push({ last: this.#begun, ended: promise, resolve });
    return promise;
  }

  #resolve(): void {
    const [oldest = Number.POSITIVE_INFINITY] = this.#underWay;
    const ready = this.#waiters.findIndex(({ last }) => last >= oldest);
    for (const { resolve } of this.#waiters.splice(0, ready === -1 ? this.#waiters.length : ready)) resolve();
  }
}
