/**
 * The limit of explanations made at once: each reads hundreds of objects, so that one request is work for many. Who comes
 * while all places are taken waits in line for a while, with one question: others with many questions do not keep them out.
 */
import { tooManyRequests } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import { onAbort } from '../../base/abort.ts';
import { serviceAccountOf } from '../../component-helpers/user-names.ts';
import type { Clock } from '../../platform/clock.ts';

const MAX_OF_ONE = 2;
const MAX_OF_ALL = 8;
/** The limit for all users except members of `system:masters`, who alone may take the last place. */
const MAX_OF_OTHERS = MAX_OF_ALL - 1;
const MAX_WAITING = 50;
const MAX_WAIT_MS = 10_000;

/** A request for an explanation. */
export interface ExplanationCaller {
  readonly user: Principal;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
  /** Waits without the request's seat of priority and fairness. */
  waitFor<T>(waiting: Promise<T>): Promise<T>;
}

/** A request that waits for a place. */
interface Waiting {
  readonly group: string;
  readonly most: number;
  /** Gives the place; false: it is not wanted any more. */
  readonly enter: () => boolean;
}

export class ExplanationSlots {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #taken = new Map<string, number>();
  #takenOfAll = 0;
  #line: Waiting[] = [];

  constructor(clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
  }

  /** Rejects with 429 when there is no place, or none came free in time; with the signal's reason when the client left. */
  async use<T>(caller: ExplanationCaller, work: () => Promise<T>): Promise<T> {
    const group = groupOf(caller.user);
    if ((this.#taken.get(group) ?? 0) >= MAX_OF_ONE)
      throw tooManyRequests(`${MAX_OF_ONE} explanations for you are being made: try again later`, 1);
    const most = caller.user.groups.includes('system:masters') ? MAX_OF_ALL : MAX_OF_OTHERS;
    if (this.#takenOfAll < most) this.#take(group);
    else await caller.waitFor(this.#turn(group, most, caller.signal));
    try {
      return await work();
    } finally {
      this.#leave(group);
    }
  }

  /** Resolves with a place taken. */
  #turn(group: string, most: number, signal: AbortSignal): Promise<void> {
    if (this.#line.length >= MAX_WAITING || this.#line.some((one) => one.group === group)) throw this.#full();
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
      this.#take(group);
      resolve();
      return true;
    };
    this.#line.push({ group, most, enter });
    return promise.finally(() => (this.#line = this.#line.filter((one) => one.enter !== enter)));
  }

  #full(): Error {
    return tooManyRequests(`${this.#takenOfAll} explanations are being made: try again later`, 1);
  }

  #take(group: string): void {
    this.#takenOfAll++;
    this.#taken.set(group, (this.#taken.get(group) ?? 0) + 1);
  }

  #leave(group: string): void {
    this.#takenOfAll--;
    const left = this.#taken.get(group)! - 1;
    if (left === 0) this.#taken.delete(group);
    else this.#taken.set(group, left);
    this.#line.find((one) => this.#takenOfAll < one.most && one.enter());
  }
}

/** Service accounts of one namespace share their places: a user who may make one may make many, on all nodes. */
function groupOf({ name }: Principal): string {
  const account = serviceAccountOf(name);
  return account === undefined ? `user ${name}` : `accounts ${account.namespace}`;
}
