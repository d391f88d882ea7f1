/**
 * The limit of bytes of large requests or answers in work at a time, of all clients and of one. What does not fit waits, some
 * of each client; more is refused with 429. Upstream: none; there seats and memory alone bound it.
 */
import { tooManyRequests } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../../platform/clock.ts';
import { limitGroupOf } from '../limit-group.ts';

const RETRY_AFTER_SECONDS = 5;

export interface ByteLimits {
  /** Its name in messages: `lists`. */
  readonly what: string;
  readonly totalBytes: number;
  /**
   * The share of one client, see `limitGroupOf`; at most three quarters of the total. A larger piece counts as this: it is let in
   * where it is its client's only one, one such piece of all clients at a time.
   */
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
  /** Sets the size of the share; a value below the initial one changes nothing. */
  note(bytes: number): void;
  end(): void;
}

const unbounded: ByteLease = { note: () => undefined, end: () => undefined };

/** A part of the total, with what is let in there. */
interface Pool {
  readonly limit: number;
  bytes: number;
}

interface Owner {
  bytes: number;
  readonly waiting: Waiter[];
}

interface Piece {
  /** Its counted bytes, at most an owner's part. */
  readonly bytes: number;
  /** Larger than an owner's part. */
  readonly isHuge: boolean;
}

interface Waiter extends Piece {
  readonly letIn: (pool: Pool) => void;
}

/** The part of the total for small pieces of owners that have no other piece in use. */
const RESERVED_PART = 1 / 4;
/** Pieces above this part of the total do not use that reserve. */
const RESERVED_PIECE = 1 / 16;

/**
 * The budget. Waiting owners take turns; an owner who has used up the own part delays no other. No request overtakes one that
 * waits for the common pool, because small ones would otherwise delay a large one for ever; but small requests of idle owners
 * have a separate pool.
 */
export class ByteBudget {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #limits: ByteLimits;
  readonly #owners = new Map<string, Owner>();
  /** Owners with waiting pieces, in the order of their turns. */
  readonly #lines = new Map<string, Owner>();
  readonly #common: Pool;
  readonly #reserve: Pool;
  readonly #reservedPiece: number;
  #hasHuge = false;

  constructor(clock: Pick<Clock, 'setTimer'>, limits: ByteLimits) {
    this.#clock = clock;
    this.#limits = limits;
    const reserved = Math.floor(limits.totalBytes * RESERVED_PART);
    this.#common = { limit: limits.totalBytes - reserved, bytes: 0 };
    this.#reserve = { limit: reserved, bytes: 0 };
    this.#reservedPiece = Math.floor(limits.totalBytes * RESERVED_PIECE);
  }

  /** Bytes of all that are let in, as they count. */
  get bytes(): number {
    return this.#common.bytes + this.#reserve.bytes;
  }

  /**
   * At once where there is room. Throws or rejects with 429, or with the signal's reason when it aborts. Users of the cluster's
   * own are not counted.
   */
  enter(user: Principal, bytes: number, signal?: AbortSignal): ByteLease | Promise<ByteLease> {
    const name = limitGroupOf(user);
    if (name === undefined) return unbounded;
    signal?.throwIfAborted();
    const owner = this.#ownerOf(name);
    const piece = { bytes: Math.min(bytes, this.#limits.ownBytes), isHuge: bytes > this.#limits.ownBytes };
    const pool = owner.waiting.length === 0 ? this.#poolFor(owner, piece, this.#isCommonAwaited()) : undefined;
    if (pool !== undefined) return this.#letIn(name, piece, pool);
    if (owner.waiting.length >= this.#limits.maxWaiting) throw this.#tooMany(user);
    const { promise, resolve, reject } = Promise.withResolvers<ByteLease>();
    const leave = (): void => {
      cancel();
      unhook();
      owner.waiting.splice(owner.waiting.indexOf(waiter), 1);
      if (owner.waiting.length === 0) this.#lines.delete(name);
    };
    const giveUp = (reason: unknown): void => {
      leave();
      this.#forget(name);
      reject(reason as Error);
      this.#goOn();
    };
    const cancel = this.#clock.setTimer(this.#limits.waitMs, () => giveUp(this.#tooMany(user)));
    const unhook = onAbort(signal, () => giveUp(signal?.reason));
    const letIn = (free: Pool): void => {
      leave();
      // The next of this owner come after one of each other owner.
      if (this.#lines.delete(name)) this.#lines.set(name, owner);
      resolve(this.#letIn(name, piece, free));
    };
    const waiter: Waiter = { ...piece, letIn };
    owner.waiting.push(waiter);
    this.#lines.set(name, owner);
    return promise;
  }

  #tooMany(user: Principal): Error {
    const who = JSON.stringify(user.name);
    return tooManyRequests(`too many large ${this.#limits.what} of ${who} are under way`, RETRY_AFTER_SECONDS);
  }

  #ownerOf(name: string): Owner {
    let existing = this.#owners.get(name);
    if (existing === undefined) this.#owners.set(name, (existing = { bytes: 0, waiting: [] }));
    return existing;
  }

  /** Whether nothing but the pools keeps a piece out. */
  #mayEnter({ bytes: own }: Owner, { bytes, isHuge }: Piece): boolean {
    return own + bytes <= this.#limits.ownBytes && !(isHuge && this.#hasHuge);
  }

  /** Where there is room for a piece now. */
  #poolFor(owner: Owner, piece: Piece, isCommonAwaited: boolean): Pool | undefined {
    if (!this.#mayEnter(owner, piece)) return undefined;
    if (!isCommonAwaited && fits(this.#common, piece)) return this.#common;
    const mayReserve = owner.bytes === 0 && piece.bytes <= this.#reservedPiece;
    return mayReserve && fits(this.#reserve, piece) ? this.#reserve : undefined;
  }

  #letIn(name: string, { bytes, isHuge }: Piece, pool: Pool): ByteLease {
    let held = 0;
    const add = (more: number): void => {
      held += more;
      pool.bytes += more;
      this.#ownerOf(name).bytes += more;
    };
    add(bytes);
    if (isHuge) this.#hasHuge = true;
    let hasEnded = false;
    return {
      note: (now) => {
        if (!hasEnded && !isHuge && now > held) add(now - held);
      },
      end: () => {
        if (hasEnded) return;
        hasEnded = true;
        if (isHuge) this.#hasHuge = false;
        add(-held);
        this.#forget(name);
        this.#goOn();
      },
    };
  }

  #forget(name: string): void {
    const owner = this.#ownerOf(name);
    if (owner.bytes === 0 && owner.waiting.length === 0) this.#owners.delete(name);
  }

  /** Whether a piece waits for the common pool alone. */
  #isCommonAwaited(): boolean {
    for (const owner of this.#lines.values()) if (this.#mayEnter(owner, owner.waiting[0]!)) return true;
    return false;
  }

  #goOn(): void {
    while (this.#letInNext());
  }

  #letInNext(): boolean {
    let isCommonAwaited = false;
    for (const owner of this.#lines.values()) {
      const [first] = owner.waiting;
      if (first === undefined || !this.#mayEnter(owner, first)) continue;
      const pool = this.#poolFor(owner, first, isCommonAwaited);
      if (pool !== undefined) {
        first.letIn(pool);
        return true;
      }
      isCommonAwaited = true;
    }
    return false;
  }
}

function fits({ limit, bytes }: Pool, piece: Piece): boolean {
  return bytes + piece.bytes <= limit;
}
