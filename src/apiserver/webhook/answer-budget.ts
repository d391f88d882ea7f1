/**
 * How many bytes of webhooks' answers are held at a time: of all calls under way, and of one server. What does not fit is not
 * read on until others have ended; the call's deadline goes on meanwhile. Upstream: none, nor a bound of one answer.
 *
 * Invariant: the oldest call that holds bytes may always go on, and of each server the oldest where the rest has room, so that calls
 * never wait for each other in a circle.
 */

import { onAbort } from '../../base/abort.ts';

export interface AnswerLimits {
  readonly totalBytes: number;
  /** The share of one server. */
  readonly ownBytes: number;
  /** The first bytes of each answer do not count: ordinary answers never wait. */
  readonly freeBytes: number;
}

const MIB = 1024 * 1024;
export const ANSWER_LIMITS: AnswerLimits = { totalBytes: 128 * MIB, ownBytes: 32 * MIB, freeBytes: MIB / 16 };

/** What one call holds. */
export interface AnswerLease {
  /** Undefined where there is room for this many more bytes; else to be awaited. Rejects with the signal's reason. */
  take(bytes: number): Promise<void> | undefined;
  /** The caller calls it once, when it no longer holds the answer. */
  end(): void;
}

interface Holding {
  readonly server: string;
  /** All bytes that were read. */
  read: number;
  /** Those of them that count. */
  counted: number;
  /** Goes on after a wait. */
  wake: (() => void) | undefined;
  /** How many bytes it waits for. */
  wanted: number;
}

export class AnswerBudget {
  readonly #limits: AnswerLimits;
  /** Calls whose bytes count or wait, the oldest first. */
  readonly #holdings = new Set<Holding>();
  readonly #byServer = new Map<string, Set<Holding>>();
  #bytes = 0;

  constructor(limits: AnswerLimits = ANSWER_LIMITS) {
    this.#limits = limits;
  }

  /** Bytes of all calls, as they count. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `server`: whose answer it is. */
  enter(server: string, signal: AbortSignal): AnswerLease {
    const holding: Holding = { server, read: 0, counted: 0, wake: undefined, wanted: 0 };
    return {
      take: (bytes) => this.#take(holding, bytes, signal),
      end: () => this.#end(holding),
    };
  }

  #take(holding: Holding, bytes: number, signal: AbortSignal): Promise<void> | undefined {
    holding.read += bytes;
    const counted = Math.max(0, holding.read - this.#limits.freeBytes) - holding.counted;
    if (counted === 0) return undefined;
    this.#add(holding);
    if (this.#hasRoom(holding, counted)) {
      this.#count(holding, counted);
      return undefined;
    }
    holding.wanted = counted;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        holding.wake = undefined;
        reject(signal.reason as Error);
      };
      if (signal.aborted) return leave();
      const unhook = onAbort(signal, leave);
      holding.wake = () => {
        unhook();
        resolve();
      };
    });
  }

  #hasRoom(holding: Holding, bytes: number): boolean {
    if (firstOf(this.#holdings) === holding) return true;
    if (this.#bytes + bytes > this.#limits.totalBytes) return false;
    const own = this.#byServer.get(holding.server)!;
    if (firstOf(own) === holding) return true;
    let held = bytes;
    for (const { counted } of own) held += counted;
    return held <= this.#limits.ownBytes;
  }

  #add(holding: Holding): void {
    this.#holdings.add(holding);
    let own = this.#byServer.get(holding.server);
    if (own === undefined) this.#byServer.set(holding.server, (own = new Set()));
    own.add(holding);
  }

  #count(holding: Holding, bytes: number): void {
    holding.counted += bytes;
    this.#bytes += bytes;
  }

  #end(holding: Holding): void {
    if (!this.#holdings.delete(holding)) return;
    const own = this.#byServer.get(holding.server)!;
    own.delete(holding);
    if (own.size === 0) this.#byServer.delete(holding.server);
    this.#bytes -= holding.counted;
    for (const waiting of this.#holdings) {
      const { wake, wanted } = waiting;
      if (wake === undefined || !this.#hasRoom(waiting, wanted)) continue;
      this.#count(waiting, wanted);
      waiting.wake = undefined;
      wake();
    }
  }
}

function firstOf<T>(set: ReadonlySet<T>): T | undefined {
  return set.values().next().value;
}
