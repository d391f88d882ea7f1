/**
 * Bounds how many short requests are served at a time: 400 reads, 200 writes. Long-running ones (watches, logs, exec)
 * do not count, nor do system:masters. Upstream: server/filters.WithMaxInFlightLimit. Where
 * priority and fairness decides who is served (`flowcontrol/`), this only counts.
 */
import { type StatusError, tooManyRequests } from '../../api/status-error.ts';
import { SlotSet } from '../../base/slot-set.ts';
import { NODE_ROUTES_PATH } from '../../component-helpers/gateway-class.ts';
import { recordRefusal } from '../refused-requests/refusal-source.ts';
import type { RequestScope } from '../request-scope.ts';
import { TUNNEL_PATH } from '../streaming/tunnels/tunnel-protocol.ts';
import { RequestSlot } from './request-slot.ts';

const LONG_RUNNING_SUBRESOURCES = new Set(['attach', 'exec', 'portforward', 'log', 'proxy']);
const LONG_RUNNING_PATHS = new Set([NODE_ROUTES_PATH, TUNNEL_PATH]);
const READ_VERBS = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Whether a request runs for as long as its client likes. */
export function isLongRunning(scope: RequestScope): boolean {
  const { verb, subresource, path } = scope.info;
  if (verb === 'watch' || verb === 'proxy' || LONG_RUNNING_SUBRESOURCES.has(subresource)) return true;
  return LONG_RUNNING_PATHS.has(path);
}

/** Counts what is being served. */
export class MaxInFlight {
  readonly #limits: { readonly readOnly: number; readonly mutating: number };
  readOnly = 0;
  mutating = 0;
  /** The requests that wait for something at this moment. */
  readonly waiting = new SlotSet<RequestScope>();

  constructor(limits: { readOnly: number; mutating: number }) {
    this.#limits = limits;
  }

  /** Takes a slot. Throws 429. */
  enter(scope: RequestScope): RequestSlot {
    const { verb } = scope.info;
    const full = READ_VERBS.has(verb) ? this.readOnly >= this.#limits.readOnly : this.mutating >= this.#limits.mutating;
    if (full && !scope.user.groups.includes('system:masters')) throw tooManyInFlight();
    return new InFlight(this, this.begin(scope));
  }

  /** Counts a request, whatever the limits. Returns the argument for `end` and `resume`. */
  begin({ info }: RequestScope): boolean {
    const read = READ_VERBS.has(info.verb);
    this.resume(read);
    return read;
  }

  /** Counts a request again that did not count while it waited. */
  resume(read: boolean): void {
    if (read) this.readOnly++;
    else this.mutating++;
  }

  /** A request counted by `begin` has ended, or waits for something. */
  end(read: boolean): void {
    if (read) this.readOnly--;
    else this.mutating--;
  }
}

class InFlight extends RequestSlot {
  readonly #requests: MaxInFlight;
  readonly #read: boolean;

  constructor(requests: MaxInFlight, read: boolean) {
    super();
    this.#requests = requests;
    this.#read = read;
  }

  protected release(): void {
    this.#requests.end(this.#read);
  }

  protected retake(): void {
    this.#requests.resume(this.#read);
  }

  protected ended(): void {}
}

function tooManyInFlight(): StatusError {
  const error = tooManyRequests('Too many requests, please try again later.', 1);
  return recordRefusal(error, { part: 'flowControl' });
}
