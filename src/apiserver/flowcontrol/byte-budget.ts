/**
 * How many bytes of large requests or answers are worked on at a time, of all clients and of one. What does not fit waits, some
 * of each client; more is refused with 429. Upstream: none; there seats and memory alone bound it.
 */
import { tooManyRequests } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../../platform/clock.ts';
import { sharersOf } from '../sharers.ts';

const RETRY_AFTER_SECONDS = 5;

export interface ByteLimits {
  /** What it is, for messages: `lists`. */
  readonly what: string;
  readonly totalBytes: number;
  /** The share of one client, see `sharersOf`. One larger piece is let in where it is the only one. */
  readonly ownBytes: number;
  /** How many pieces of one client may wait. Waiting requests hold no seat of priority and fairness (`Place`). */
  readonly maxWaiting: number;
  readonly waitMs: number;
}

const MIB = 1024 * 1024;

export const LIST_LIMITS: ByteLimits = {
  what: 'lists',
  totalBytes: 256 * MIB,
  ownBytes: 64 * MIB,
  maxWaiting: 16,
  waitMs: 5000,
};

export const BODY_LIMITS: ByteLimits = {
  what: 'request bodies',
  totalBytes: 128 * MIB,
  ownBytes: 32 * MIB,
  maxWaiting: 32,
  waitMs: 5000,
};

/** A place in a budget, to be given back once. */
export interface ByteLease {
  /** So much it is by now; less than it began with changes nothing. */
  note(bytes: number): void;
  end(): void;
}

const unbounded: ByteLease = { note: () => undefined, end: () => undefined };

interface Owner {
  bytes: number;
  waiting: number;
}

interface Waiter {
  readonly owner: string;
  readonly bytes: number;
  readonly letIn: () => void;
}

export class ByteBudget {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #limits: ByteLimits;
  readonly #owners = new Map<string, Owner>();
  #waiters: Waiter[] = [];
  #bytes = 0;

  constructor(clock: Pick<Clock, 'setTimer'>, limits: ByteLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Bytes of all that are let in. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * At once where there is room. Throws or rejects with 429, or with the signal's reason when it aborts. Users of the cluster's
   * own are not counted.
   */
  enter(user: Principal, bytes: number, signal?: AbortSignal): ByteLease | Promise<ByteLease> {
    const owner = sharersOf(user);
    if (owner === undefined) return unbounded;
    signal?.throwIfAborted();
    const own = this.#ownerOf(owner);
    if (own.waiting === 0 && this.#fitsOwn(owner, bytes) && this.#fitsAll(bytes) && !this.#isTotalAwaited())
      return this.#letIn(owner, bytes);
    if (own.waiting >= this.#limits.maxWaiting) throw this.#tooMany(user);
    own.waiting++;
    const { promise, resolve, reject } = Promise.withResolvers<ByteLease>();
    const leave = (): void => {
      cancel();
      unhook();
      own.waiting--;
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
    };
    const giveUp = (reason: unknown): void => {
      leave();
      this.#forget(owner);
      reject(reason as Error);
      this.#goOn();
    };
    const cancel = this.#clock.setTimer(this.#limits.waitMs, () => giveUp(this.#tooMany(user)));
    const unhook = onAbort(signal, () => giveUp(signal?.reason));
    const letIn = (): void => {
      leave();
      resolve(this.#letIn(owner, bytes));
    };
    const waiter: Waiter = { owner, bytes, letIn };
    this.#waiters.push(waiter);
    return promise;
  }

  #tooMany(user: Principal): Error {
    const who = JSON.stringify(user.name);
    return tooManyRequests(`too many large ${this.#limits.what} of ${who} are under way`, RETRY_AFTER_SECONDS);
  }

  #ownerOf(owner: string): Owner {
    let found = this.#owners.get(owner);
    if (found === undefined) this.#owners.set(owner, (found = { bytes: 0, waiting: 0 }));
    return found;
  }

  #fitsOwn(owner: string, bytes: number): boolean {
    const own = this.#owners.get(owner)?.bytes ?? 0;
    return own === 0 || own + bytes <= this.#limits.ownBytes;
  }

  #fitsAll(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#limits.totalBytes;
  }

  #letIn(owner: string, bytes: number): ByteLease {
    let held = 0;
    const add = (more: number): void => {
      held += more;
      this.#bytes += more;
      this.#ownerOf(owner).bytes += more;
    };
    add(bytes);
    let hasEnded = false;
    return {
      note: (now) => {
        if (!hasEnded && now > held) add(now - held);
      },
      end: () => {
        if (hasEnded) return;
        hasEnded = true;
        add(-held);
        this.#forget(owner);
        this.#goOn();
      },
    };
  }

  #forget(owner: string): void {
    const own = this.#ownerOf(owner);
    if (own.bytes === 0 && own.waiting === 0) this.#owners.delete(owner);
  }

  /**
   * The first that nothing but the total keeps out, first come, first served: nobody waits for another client whose own part
   * is used up.
   */
  #next(): Waiter | undefined {
    const stopped = new Set<string>();
    for (const waiter of this.#waiters) {
      if (!stopped.has(waiter.owner) && this.#fitsOwn(waiter.owner, waiter.bytes)) return waiter;
      stopped.add(waiter.owner);
    }
    return undefined;
  }

  /** Nobody passes one that waits for the total: a large one would wait forever while small ones come. */
  #isTotalAwaited(): boolean {
    return this.#next() !== undefined;
  }

  #goOn(): void {
    for (let next = this.#next(); next !== undefined && this.#fitsAll(next.bytes); next = this.#next()) next.letIn();
  }
}
