/**
 * How many bytes of large requests or answers are worked on at a time, of all clients and of one. What does not fit waits, some
 * of each client; more is refused with 429. Upstream: none; there seats and memory alone bound it.
 */
import { tooManyRequests } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import { sharersOf } from '../sharers.ts';

const RETRY_AFTER_SECONDS = 5;

export interface ByteLimits {
  /** What it is, for messages: `lists`. */
  readonly what: string;
  readonly totalBytes: number;
  /** The share of one client, see `sharersOf`. One larger piece is let in where it is the only one. */
  readonly ownBytes: number;
  /** How many pieces of one client may wait. */
  readonly maxWaiting: number;
  readonly waitMs: number;
}

const MIB = 1024 * 1024;

export const LIST_LIMITS: ByteLimits = {
  what: 'lists',
  totalBytes: 256 * MIB,
  ownBytes: 64 * MIB,
  maxWaiting: 32,
  waitMs: 30_000,
};

export const BODY_LIMITS: ByteLimits = {
  what: 'request bodies',
  totalBytes: 128 * MIB,
  ownBytes: 32 * MIB,
  maxWaiting: 64,
  waitMs: 30_000,
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

  /** At once where there is room. Throws or rejects with 429. Users of the cluster's own are not counted. */
  enter(user: Principal, bytes: number): ByteLease | Promise<ByteLease> {
    const owner = sharersOf(user);
    if (owner === undefined) return unbounded;
    const own = this.#ownerOf(owner);
    if (own.waiting === 0 && this.#fits(owner, bytes)) return this.#letIn(owner, bytes);
    if (own.waiting >= this.#limits.maxWaiting) throw this.#tooMany(user);
    own.waiting++;
    const { promise, resolve, reject } = Promise.withResolvers<ByteLease>();
    const leave = (): void => {
      cancel();
      own.waiting--;
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
    };
    const cancel = this.#clock.setTimer(this.#limits.waitMs, () => {
      leave();
      this.#forget(owner);
      reject(this.#tooMany(user));
    });
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

  #fits(owner: string, bytes: number): boolean {
    const own = this.#owners.get(owner)?.bytes ?? 0;
    const { ownBytes, totalBytes } = this.#limits;
    if (own > 0 && own + bytes > ownBytes) return false;
    return this.#bytes === 0 || this.#bytes + bytes <= totalBytes;
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

  /** First come, first served, but nobody waits for another client whose own part is used up. */
  #goOn(): void {
    const stopped = new Set<string>();
    for (const { owner, bytes, letIn } of [...this.#waiters]) {
      if (!stopped.has(owner) && this.#fits(owner, bytes)) letIn();
      else stopped.add(owner);
    }
  }
}
