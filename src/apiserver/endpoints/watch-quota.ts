/**
 * The limit of watches per user. Every open watch costs memory, and time at each change of what it watches.
 * Upstream: none; there watches are bounded by memory alone.
 */
import { tooManyRequests } from '../../api/status-error.ts';
import type { ApiRequest, Principal } from '../../api/transport.ts';
import { limitGroupOf } from '../limit-group.ts';
import type { Selection } from '../generic-registry/selection.ts';

/** Far above the number of watches of a controller of all kinds, a kubelet or an agent. */
export const MAX_WATCH_WEIGHT = 10_000;
const RETRY_AFTER_SECONDS = 10;
/** The number of requirements, or of characters of the request, that counts as one more watch. */
const REQUIREMENTS_PER_WATCH = 8;
const LENGTH_PER_WATCH = 2_048;

/** The weight of a watch: 1, and more with a long selector or request, which it keeps as long as it is open. */
export function watchWeight({ query, headers }: ApiRequest, { labels, fields }: Selection): number {
  let length = query.length;
  for (const name in headers) length += headers[name]?.length ?? 0;
  const requirements = labels.requirements.length + fields.length;
  return 1 + Math.floor(requirements / REQUIREMENTS_PER_WATCH) + Math.floor(length / LENGTH_PER_WATCH);
}

/** The weights of the open watches. */
export class WatchQuota {
  readonly #weights = new Map<string, number>();

  /** Counts a watch until the result is called, which may happen more than once. Throws 429. */
  enter(user: Principal, weight: number): () => void {
    const group = limitGroupOf(user);
    if (group === undefined) return () => undefined;
    const before = this.#weights.get(group) ?? 0;
    if (before + weight > MAX_WATCH_WEIGHT)
      throw tooManyRequests(
        `too many watches of ${JSON.stringify(user.name)} are open: end some, or use shorter selectors`,
        RETRY_AFTER_SECONDS,
      );
    this.#weights.set(group, before + weight);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = this.#weights.get(group)! - weight;
      if (left > 0) this.#weights.set(group, left);
      else this.#weights.delete(group);
    };
  }
}
