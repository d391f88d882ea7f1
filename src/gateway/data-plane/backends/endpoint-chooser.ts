/**
 * The order in which the endpoints of a backend are tried: round robin, recently unreachable ones last. A client of a sticky
 * backend gets the same endpoint as long as that exists, whatever happens to others (rendezvous hashing).
 */
import { fnv32a } from '../../../base/fnv.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Backend, Endpoint } from '../../snapshot/snapshot.ts';

/** The time for which an unreachable endpoint is tried last. */
const AVOIDED_MS = 5_000;
/** The limit of endpoints tried for one request. */
const MAX_TRIES = 3;

export class EndpointChooser {
  readonly #clock: Clock;
  #next = 0;
  readonly #avoidedUntil = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The endpoints in the order in which they are tried. */
  order({ endpoints, isSticky }: Backend, clientAddress: string): readonly Endpoint[] {
    if (endpoints.length <= 1) return endpoints;
    const ordered = isSticky === true ? byRank(endpoints, clientAddress) : this.#inTurn(endpoints);
    if (this.#avoidedUntil.size === 0) return ordered.slice(0, MAX_TRIES);
    const now = this.#clock.monotonicMs();
    const isAvoided = (one: Endpoint): boolean => (this.#avoidedUntil.get(keyOf(one)) ?? 0) > now;
    return [...ordered.filter((one) => !isAvoided(one)), ...ordered.filter(isAvoided)].slice(0, MAX_TRIES);
  }

  failed(endpoint: Endpoint): void {
    const now = this.#clock.monotonicMs();
    for (const [key, untilMs] of this.#avoidedUntil) if (untilMs <= now) this.#avoidedUntil.delete(key);
    this.#avoidedUntil.set(keyOf(endpoint), now + AVOIDED_MS);
  }

  #inTurn(endpoints: readonly Endpoint[]): readonly Endpoint[] {
    const start = this.#next++ % endpoints.length;
    const tries = Math.max(MAX_TRIES, this.#avoidedUntil.size + 1);
    return Array.from(
      { length: Math.min(tries, endpoints.length) },
      (_, offset) => endpoints[(start + offset) % endpoints.length]!,
    );
  }
}

function keyOf({ address, port }: Endpoint): string {
  return `${address} ${port}`;
}

function byRank(endpoints: readonly Endpoint[], client: string): readonly Endpoint[] {
  const ranked = endpoints.map((endpoint) => ({ endpoint, rank: mixed(fnv32a(`${keyOf(endpoint)} ${client}`)) }));
  return ranked.toSorted((a, b) => b.rank - a.rank).map(({ endpoint }) => endpoint);
}

/** Spreads hashes of texts that differ in their last characters (the finalizer of MurmurHash3). */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}
