/** How many explanations are made at once: each reads hundreds of objects, so that one request is work for many. */
import { tooManyRequests } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import { serviceAccountOf } from '../../component-helpers/user-names.ts';

const MAX_OF_ONE = 2;
const MAX_OF_ALL = 8;
/** The most for everybody but members of `system:masters`, who alone take the last one. */
const MAX_OF_OTHERS = MAX_OF_ALL - 1;

/** Service accounts of one namespace share their places: whoever may make one may make many, on all nodes. */
function sharersOf({ name }: Principal): string {
  const account = serviceAccountOf(name);
  return account === undefined ? `user ${name}` : `accounts ${account.namespace}`;
}

export class Places {
  readonly #taken = new Map<string, number>();
  #takenOfAll = 0;

  /** Throws 429 when there is no place. */
  async use<T>(user: Principal, work: () => Promise<T>): Promise<T> {
    const sharers = sharersOf(user);
    const own = this.#taken.get(sharers) ?? 0;
    if (own >= MAX_OF_ONE)
      throw tooManyRequests(`${MAX_OF_ONE} explanations for you are being made: try again later`, 1);
    const most = user.groups.includes('system:masters') ? MAX_OF_ALL : MAX_OF_OTHERS;
    if (this.#takenOfAll >= most)
      throw tooManyRequests(`${this.#takenOfAll} explanations are being made: try again later`, 1);
    this.#taken.set(sharers, own + 1);
    this.#takenOfAll++;
    try {
      return await work();
    } finally {
      this.#takenOfAll--;
      const left = this.#taken.get(sharers)! - 1;
      if (left === 0) this.#taken.delete(sharers);
      else this.#taken.set(sharers, left);
    }
  }
}
