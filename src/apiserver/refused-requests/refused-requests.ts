/**
 * The last refused requests, so that `keelson why request/ID` can explain them. In memory, bounded by number, by user
 * and by the length of texts; successful requests are not recorded.
 */
import type { Status } from '../../api/gen/meta-v1.ts';
import type { RefusedRequest } from '../../component-helpers/refused-request.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import type { RequestScope } from '../request-scope.ts';
import { refusalSourceOf } from './refusal-source.ts';
import { MAX_NAME_CHARS, refusedRequestOf } from './refused-request.ts';

const MAX_REQUESTS = 1024;
/** The limit per user, so that one user's requests cannot push out all others. */
const MAX_OF_USER = 128;

/** Statuses that only report a state: controllers get them all the time. */
const UNREMARKABLE: ReadonlySet<number | undefined> = new Set([404, 409, 410]);

interface RecordedRequest {
  readonly request: RefusedRequest;
  readonly ownerUid: string | undefined;
}

export class RefusedRequests {
  readonly #clock: Clock;
  readonly #random: Random;
  /** By user and id, the oldest first. */
  readonly #requests = new Map<string, RecordedRequest>();
  /** Keys of each user's requests, the oldest first. */
  readonly #byUser = new Map<string, Set<string>>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Records a failed request if it was refused. Returns the id for the response; undefined: not refused. */
  record(scope: RequestScope, error: unknown, status: Status): string | undefined {
    const source = refusalSourceOf(error);
    if (source === undefined && UNREMARKABLE.has(status.code)) return undefined;
    if (scope.user.name.length > MAX_NAME_CHARS || scope.request.isPart === true) return undefined;
    const id = scope.audited?.auditId ?? (scope.request.headers['audit-id'] || this.#random.uuid());
    const key = keyOf(scope.user.name, id.slice(0, MAX_NAME_CHARS));
    // A second request with the same client-chosen id must not change the record of the first.
    if (this.#requests.has(key)) return id;
    const nowMs = this.#clock.nowMs();
    const request = refusedRequestOf({ scope, status, source, id }, { nowMs, endMs: this.#clock.monotonicMs() });
    this.#add(key, { request, ownerUid: source?.ownerUid });
    return id;
  }

  /** A user's refused requests, the newest first. */
  of(user: string): readonly RefusedRequest[] {
    const keys = [...(this.#byUser.get(user) ?? [])].toReversed();
    return keys.map((key) => this.#requests.get(key)!.request);
  }

  /** All users' refused requests, the newest first. */
  all(): readonly RefusedRequest[] {
    return [...this.#requests.values()].toReversed().map(({ request }) => request);
  }

  /**
   * Refused writes of objects owned by this uid, the newest first. Anybody may set an owner, so only requests in the
   * owner's namespace count, if it has one.
   */
  ownedBy(uid: string, namespace: string): readonly RefusedRequest[] {
    const owned = [...this.#requests.values()].filter(
      ({ ownerUid, request }) => ownerUid === uid && (namespace === '' || request.resource?.namespace === namespace),
    );
    return owned.toReversed().map(({ request }) => request);
  }

  #add(key: string, remembered: RecordedRequest): void {
    const { user } = remembered.request;
    if (remembered.ownerUid !== undefined) this.#forgetRepeated(remembered);
    let keys = this.#byUser.get(user);
    if (keys === undefined) this.#byUser.set(user, (keys = new Set()));
    keys.add(key);
    this.#requests.set(key, remembered);
    if (keys.size > MAX_OF_USER) this.#forget(firstKey(keys));
    if (this.#requests.size > MAX_REQUESTS) this.#forget(firstKey(this.#requests.keys()));
  }

  /** A controller that retries is refused for the same reason: only the last refusal is kept. */
  #forgetRepeated({ ownerUid, request }: RecordedRequest): void {
    for (const key of this.#byUser.get(request.user) ?? []) {
      const recordedRequest = this.#requests.get(key)!;
      if (
        recordedRequest.ownerUid === ownerUid &&
        recordedRequest.request.refusedBy.plugin === request.refusedBy.plugin
      )
        this.#forget(key);
    }
  }

  #forget(key: string): void {
    const { user } = this.#requests.get(key)!.request;
    this.#requests.delete(key);
    const keys = this.#byUser.get(user);
    keys?.delete(key);
    if (keys?.size === 0) this.#byUser.delete(user);
  }
}

function keyOf(user: string, id: string): string {
  return `${id} ${user}`;
}

function firstKey(keys: Iterable<string>): string {
  const [key = ''] = keys;
  return key;
}
