/**
 * Bounds how many short requests are served at a time: 400 reads, 200 writes. Long-running ones (watches, logs, exec)
 * do not count, nor do system:masters. Upstream: server/filters.WithMaxInFlightLimit. API priority and fairness is not
 * done: its objects are served, its queues are not.
 */
import { type StatusError, tooManyRequests } from '../../api/status-error.ts';
import type { RequestScope } from '../request-scope.ts';

const longRunningSubresources = new Set(['attach', 'exec', 'portforward', 'log', 'proxy']);
const readVerbs = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Whether a request runs for as long as its client likes. */
export function isLongRunning(scope: RequestScope): boolean {
  const { verb, subresource } = scope.info;
  return verb === 'watch' || verb === 'proxy' || longRunningSubresources.has(subresource);
}

/** Counts what is being served. */
export class MaxInFlight {
  readonly #limits: { readonly readOnly: number; readonly mutating: number };
  readOnly = 0;
  mutating = 0;

  constructor(limits: { readOnly: number; mutating: number }) {
    this.#limits = limits;
  }

  /** Takes a place; the result gives it back, once. Throws 429. */
  enter(scope: RequestScope): () => void {
    const read = readVerbs.has(scope.info.verb);
    const full = read ? this.readOnly >= this.#limits.readOnly : this.mutating >= this.#limits.mutating;
    if (full && !scope.user.groups.includes('system:masters')) throw refused();
    if (read) this.readOnly++;
    else this.mutating++;
    return () => {
      if (read) this.readOnly--;
      else this.mutating--;
    };
  }
}

function refused(): StatusError {
  return tooManyRequests('Too many requests, please try again later.', 1);
}
