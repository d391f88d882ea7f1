/**
 * The order in which the endpoints of a backend are tried: round robin, recently unreachable ones last. A client of a sticky
 * backend gets the same endpoint as long as that exists, whatever happens to others (rendezvous hashing).
 */
import { fnv32a } from '../../../base/fnv.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Backend, Endpoint } from '../../snapshot/snapshot.ts';

/** The time for which an unreachable endpoint is tried last. */
const AVOIDED_MS = 5_000;
/** The limit of unreachable endpoints that are remembered; each request goes past them. */
const MAX_AVOIDED = 1_000;
/** The limit of endpoints tried for one request. */
const MAX_TRIES = 3;

interface Candidate {
  readonly endpoint: Endpoint;
  readonly isAvoided: boolean;
  readonly rank: number;
}

export class EndpointChooser {
  readonly #clock: Clock;
  #next = 0;
  /** By key, the earliest first. */
  readonly #avoidedUntil = new Map<string, number>();
  /** Hashes of the endpoints' keys, made once for each list: a list may be long. */
  readonly #hashes = new WeakMap<readonly Endpoint[], Uint32Array>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The endpoints in the order in which they are tried. */
  order({ endpoints, isSticky }: Backend, clientAddress: string): readonly Endpoint[] {
    if (endpoints.length <= 1) return endpoints;
    return isSticky === true ? this.#byRank(endpoints, clientAddress) : this.#inTurn(endpoints);
  }

  failed(endpoint: Endpoint): void {
    const now = this.#clock.monotonicMs();
    const key = keyOf(endpoint);
    this.#avoidedUntil.delete(key);
    for (const [other, untilMs] of this.#avoidedUntil) {
      if (untilMs > now && this.#avoidedUntil.size < MAX_AVOIDED) break;
      this.#avoidedUntil.delete(other);
    }
    this.#avoidedUntil.set(key, now + AVOIDED_MS);
  }

  #inTurn(endpoints: readonly Endpoint[]): readonly Endpoint[] {
    const start = this.#next++ % endpoints.length;
    const tries = Math.min(Math.max(MAX_TRIES, this.#avoidedUntil.size + 1), endpoints.length);
    const ordered = Array.from({ length: tries }, (_, offset) => endpoints[(start + offset) % endpoints.length]!);
    const isAvoided = this.#avoidance();
    return [...ordered.filter((one) => !isAvoided(one)), ...ordered.filter(isAvoided)].slice(0, MAX_TRIES);
  }

  #byRank(endpoints: readonly Endpoint[], client: string): readonly Endpoint[] {
    const hashes = this.#hashesOf(endpoints);
    const clientHash = fnv32a(client);
    const isAvoided = this.#avoidance();
    const best: Candidate[] = [];
    for (let at = 0; at < endpoints.length; at++) {
      const endpoint = endpoints[at]!;
      insert(best, { endpoint, isAvoided: isAvoided(endpoint), rank: mixed(hashes[at]! ^ clientHash) });
    }
    return best.map(({ endpoint }) => endpoint);
  }

  #avoidance(): (endpoint: Endpoint) => boolean {
    if (this.#avoidedUntil.size === 0) return () => false;
    const now = this.#clock.monotonicMs();
    return (endpoint) => (this.#avoidedUntil.get(keyOf(endpoint)) ?? 0) > now;
  }

  #hashesOf(endpoints: readonly Endpoint[]): Uint32Array {
    let hashes = this.#hashes.get(endpoints);
    if (hashes === undefined) {
      hashes = Uint32Array.from(endpoints, (endpoint) => fnv32a(keyOf(endpoint)));
      this.#hashes.set(endpoints, hashes);
    }
    return hashes;
  }
}

function keyOf({ address, port }: Endpoint): string {
  return `${address} ${port}`;
}

/** Keeps the best `MAX_TRIES` candidates in order. */
function insert(best: Candidate[], candidate: Candidate): void {
  let at = best.length;
  while (at > 0 && isBetter(candidate, best[at - 1]!)) at--;
  if (at >= MAX_TRIES) return;
  best.splice(at, 0, candidate);
  if (best.length > MAX_TRIES) best.pop();
}

function isBetter(one: Candidate, other: Candidate): boolean {
  return one.isAvoided === other.isAvoided ? one.rank > other.rank : !one.isAvoided;
}

/** Spreads hashes of texts that differ in their last characters (the finalizer of MurmurHash3). */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}
