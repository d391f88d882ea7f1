/** How many explanations are made at once: each reads hundreds of objects, so that one request is work for many. */
import { tooManyRequests } from '../../api/status-error.ts';

const MAX_OF_USER = 2;
const MAX_OF_ALL = 8;

export class Places {
  readonly #ofUser = new Map<string, number>();
  #taken = 0;

  /** Throws 429 when there is no place. */
  async use<T>(user: string, work: () => Promise<T>): Promise<T> {
    const own = this.#ofUser.get(user) ?? 0;
    if (own >= MAX_OF_USER)
      throw tooManyRequests(`${MAX_OF_USER} explanations for you are being made: try again later`, 1);
    if (this.#taken >= MAX_OF_ALL)
      throw tooManyRequests(`${MAX_OF_ALL} explanations are being made: try again later`, 1);
    this.#ofUser.set(user, own + 1);
    this.#taken++;
    try {
      return await work();
    } finally {
      this.#taken--;
      const left = this.#ofUser.get(user)! - 1;
      if (left === 0) this.#ofUser.delete(user);
      else this.#ofUser.set(user, left);
    }
  }
}
