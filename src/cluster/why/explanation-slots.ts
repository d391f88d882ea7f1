/**
 * Limits the explanations that are computed at once, since each reads hundreds of objects. A request that finds all slots in use
 * waits in a queue for a limited time; each group of callers may have one waiting request.
 */
import { tooManyRequests } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import { callerGroupOf } from '../../apiserver/limit-group.ts';
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../../platform/clock.ts';

const MAX_PER_GROUP = 2;
const MAX_TOTAL = 8;
/** The limit for all users except members of `system:masters`: the last slot is theirs. */
const MAX_WITHOUT_MASTERS = MAX_TOTAL - 1;
const MAX_WAITING = 50;
const MAX_WAIT_MS = 10_000;

export interface ExplanationCaller {
  readonly user: Principal;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Waits without the request's seat of priority and fairness. */
  waitFor<T>(waiting: Promise<T>): Promise<T>;
}

/** A request that waits for a slot. */
interface Waiting {
  readonly group: string;
  readonly most: number;
  /** Takes the slot; false when the request has given up. */
  readonly enter: () => boolean;
}

export class ExplanationSlots {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #inUse = new Map<string, number>();
  #total = 0;
  #queue: Waiting[] = [];

  constructor(clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
  }

  /** Runs `work` in a slot. Rejects with 429 when no slot is free in time, and with the signal's reason when the client has disconnected. */
  async run<T>(caller: ExplanationCaller, work: () => Promise<T>): Promise<T> {
    const group = callerGroupOf(caller.user);
    if ((this.#inUse.get(group) ?? 0) >= MAX_PER_GROUP)
      throw tooManyRequests(`${MAX_PER_GROUP} explanations for you are being made: try again later`, 1);
    const most = caller.user.groups.includes('system:masters') ? MAX_TOTAL : MAX_WITHOUT_MASTERS;
    if (this.#total < most) this.#acquire(group);
    else await caller.waitFor(this.#waitForSlot(group, most, caller.signal));
    try {
      return await work();
    } finally {
      this.#release(group);
    }
  }

  /** Resolves once a slot is acquired. */
  #waitForSlot(group: string, most: number, signal: AbortSignal): Promise<void> {
    if (this.#queue.length >= MAX_WAITING || this.#queue.some((one) => one.group === group)) throw this.#full();
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let isWanted = true;
    const end = (): boolean => {
      const was = isWanted;
      isWanted = false;
      cancel();
      forget();
      return was;
    };
    const cancel = this.#clock.setTimer(MAX_WAIT_MS, () => {
      if (end()) reject(this.#full());
    });
    const forget = onAbort(signal, () => {
      if (end()) reject(signal.reason as Error);
    });
    const enter = (): boolean => {
      if (!end()) return false;
      this.#acquire(group);
      resolve();
      return true;
    };
    this.#queue.push({ group, most, enter });
    return promise.finally(() => (this.#queue = this.#queue.filter((one) => one.enter !== enter)));
  }

  #full(): Error {
    return tooManyRequests(`${this.#total} explanations are being made: try again later`, 1);
  }

  #acquire(group: string): void {
    this.#total++;
    this.#inUse.set(group, (this.#inUse.get(group) ?? 0) + 1);
  }

  #release(group: string): void {
    this.#total--;
    const left = this.#inUse.get(group)! - 1;
    if (left === 0) this.#inUse.delete(group);
    else this.#inUse.set(group, left);
    this.#queue.find((one) => this.#total < one.most && one.enter());
  }
}
