/**
 * The limit of bytes of webhooks' responses in memory: of all calls in progress, and of one server. A response that
 * does not fit waits until others have ended, while its call's deadline continues. Upstream: none, nor a limit of one
 * response.
 *
 * Invariant: the oldest call with bytes may always continue, and of each server the oldest if the total allows it, so
 * that calls never wait for each other in a circle.
 */

import { onAbort } from '../../base/abort.ts';

export interface AnswerLimits {
  readonly totalBytes: number;
  /** The share of one server. */
  readonly ownBytes: number;
  /** The first bytes of each response do not count, so that ordinary responses never wait. */
  readonly freeBytes: number;
}

const MIB = 1024 * 1024;
export const ANSWER_LIMITS: AnswerLimits = { totalBytes: 128 * MIB, ownBytes: 32 * MIB, freeBytes: MIB / 16 };

/** The budget that one call holds. */
export interface AnswerLease {
  /**
   * Undefined when there is room for this many more bytes; otherwise to be awaited. Rejects with the signal's reason.
   */
  take(bytes: number): Promise<void> | undefined;
  /** Call once when the response is no longer held. */
  end(): void;
}

interface ServerShare {
  readonly server: string;
  /** All bytes that were read. */
  read: number;
  /** How many of the bytes count. */
  counted: number;
  /** Continues after a wait. */
  wake: (() => void) | undefined;
  /** How many bytes it waits for. */
  wanted: number;
}

export class AnswerBudget {
  readonly #limits: AnswerLimits;
  /** Calls with counted or waiting bytes, the oldest first. */
  readonly #holdings = new Set<ServerShare>();
  readonly #byServer = new Map<string, Set<ServerShare>>();
  #bytes = 0;

  constructor(limits: AnswerLimits = ANSWER_LIMITS) {
    this.#limits = limits;
  }

  /** The counted bytes of all calls. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `server`: the server that responds. */
  enter(server: string, signal: AbortSignal): AnswerLease {
    const holding: ServerShare = { server, read: 0, counted: 0, wake: undefined, wanted: 0 };
    return {
      take: (bytes) => this.#take(holding, bytes, signal),
      end: () => this.#end(holding),
    };
  }

  #take(holding: ServerShare, bytes: number, signal: AbortSignal): Promise<void> | undefined {
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

  #hasRoom(holding: ServerShare, bytes: number): boolean {
    if (firstOf(this.#holdings) === holding) return true;
    if (this.#bytes + bytes > this.#limits.totalBytes) return false;
    const own = this.#byServer.get(holding.server)!;
    if (firstOf(own) === holding) return true;
    let held = bytes;
    for (const { counted } of own) held += counted;
    return held <= this.#limits.ownBytes;
  }

  #add(holding: ServerShare): void {
    this.#holdings.add(holding);
    let own = this.#byServer.get(holding.server);
    if (own === undefined) this.#byServer.set(holding.server, (own = new Set()));
    own.add(holding);
  }

  #count(holding: ServerShare, bytes: number): void {
    holding.counted += bytes;
    this.#bytes += bytes;
  }

  #end(holding: ServerShare): void {
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
