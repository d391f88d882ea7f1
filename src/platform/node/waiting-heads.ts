/**
 * Counts the memory of waiting requests' heads: pipelined ones of HTTP/1.1, streams of HTTP/2. One connection may
 * have hundreds, and a compressed head of a few bytes may expand to 64 KB.
 */

/** The memory of a request besides the text of its head. */
const REQUEST_BYTES = 8 * 1024;

export interface WaitingLimits {
  readonly totalBytes: number;
  /** The limit per address. Peers with certificates of the cluster count only in the total. */
  readonly flowBytes: number;
}

const DEFAULT_LIMITS: WaitingLimits = { totalBytes: 128 * 1024 * 1024, flowBytes: 32 * 1024 * 1024 };

export class WaitingHeads {
  readonly #limits: WaitingLimits;
  readonly #byFlow = new Map<string, number>();
  #total = 0;

  constructor(limits = DEFAULT_LIMITS) {
    this.#limits = limits;
  }

  /**
   * Counts a head until `leave`. Returns the bytes to pass to `leave`, or undefined when there are too many and
   * nothing is counted. @param lines names and values alternately
   */
  enter(flow: string | undefined, lines: readonly string[]): number | undefined {
    let bytes = REQUEST_BYTES;
    for (const line of lines) bytes += line.length;
    const own = flow === undefined ? 0 : (this.#byFlow.get(flow) ?? 0);
    if (this.#total + bytes > this.#limits.totalBytes || own + bytes > this.#limits.flowBytes) return undefined;
    this.#total += bytes;
    if (flow !== undefined) this.#byFlow.set(flow, own + bytes);
    return bytes;
  }

  /** Bytes of all that wait. */
  get bytes(): number {
    return this.#total;
  }

  leave(flow: string | undefined, bytes: number): void {
    this.#total -= bytes;
    if (flow === undefined) return;
    const left = (this.#byFlow.get(flow) ?? 0) - bytes;
    if (left > 0) this.#byFlow.set(flow, left);
    else this.#byFlow.delete(flow);
  }
}

/** The count of this process. */
export const waitingHeads = new WaitingHeads();
