/** Counts a server's connections by client address, so that one client cannot use up all of them. */

/** The most concurrent connections. */
export interface ConnectionLimits {
  readonly total: number;
  readonly ofOneAddress: number;
}

/** Counts connections by address. */
export class ConnectionCount {
  readonly #limits: ConnectionLimits;
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Counts a connection; returns false, without counting it, when there are too many. */
  enter(address: string): boolean {
    const own = this.#byAddress.get(address) ?? 0;
    if (this.#total >= this.#limits.total || own >= this.#limits.ofOneAddress) return false;
    this.#total++;
    this.#byAddress.set(address, own + 1);
    return true;
  }

  leave(address: string): void {
    this.#total--;
    const left = this.#byAddress.get(address)! - 1;
    if (left === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, left);
  }
}
