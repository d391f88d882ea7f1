/** How much was received and sent between two readings of a network interface. */

export interface TrafficReading {
  readonly rxBytes?: number | undefined;
  readonly txBytes?: number | undefined;
}

interface Counters {
  readonly atMs: number;
  readonly rxBytes: number;
  readonly txBytes: number;
}

/** Bytes a second, from the counters of one subject. */
export class Traffic {
  #last: Counters | undefined;

  /** `NaN` until there are two readings, and when the counters have been reset. */
  rates(reading: TrafficReading | undefined, atMs: number): { readonly received: number; readonly sent: number } {
    const last = this.#last;
    const { rxBytes, txBytes } = reading ?? {};
    this.#last = rxBytes === undefined || txBytes === undefined ? undefined : { atMs, rxBytes, txBytes };
    if (last === undefined || this.#last === undefined) return { received: Number.NaN, sent: Number.NaN };
    const seconds = (atMs - last.atMs) / 1000;
    const received = (this.#last.rxBytes - last.rxBytes) / seconds;
    const sent = (this.#last.txBytes - last.txBytes) / seconds;
    return received < 0 || sent < 0 || seconds <= 0 ? { received: Number.NaN, sent: Number.NaN } : { received, sent };
  }
}
