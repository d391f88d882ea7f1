/**
 * Leases for keys with a time to live. Keys written at about the same time share one, which lives a little longer
 * than requested, since a lease per event would cost etcd more than the event. Upstream:
 * storage/etcd3/lease_manager.go.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import type { EtcdClient } from './etcd-client.ts';

/** How long a lease is shared at most; also limited to a twentieth of its time to live. */
const REUSE_SECONDS = 60;
const REUSE_SHARE = 0.05;
const KEYS_PER_LEASE = 1_000;

interface Lease {
  readonly id: Promise<number>;
  readonly reusedUntilMs: number;
  keys: number;
}

/** Creates and shares leases. */
export class LeasePool {
  readonly #client: Pick<EtcdClient, 'call'>;
  readonly #clock: Clock;
  readonly #random: Random;
  /** By time to live in seconds. */
  readonly #leases = new Map<number, Lease>();

  constructor(deps: { readonly client: Pick<EtcdClient, 'call'>; readonly clock: Clock; readonly random: Random }) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  /** The id of a lease that lives at least `ttlSeconds` from now. Rejects with `StoreError`. */
  leaseFor(ttlSeconds: number): Promise<number> {
    const nowMs = this.#clock.monotonicMs();
    const cached = this.#leases.get(ttlSeconds);
    if (cached !== undefined && nowMs < cached.reusedUntilMs && cached.keys < KEYS_PER_LEASE) {
      cached.keys++;
      return cached.id;
    }
    const reuseSeconds = Math.min(REUSE_SECONDS, REUSE_SHARE * ttlSeconds);
    const id = this.#grant(Math.ceil(ttlSeconds + reuseSeconds));
    const lease: Lease = { id, keys: 1, reusedUntilMs: nowMs + reuseSeconds * 1000 };
    this.#leases.set(ttlSeconds, lease);
    id.catch(() => this.#leases.get(ttlSeconds) === lease && this.#leases.delete(ttlSeconds));
    return id;
  }

  /** Drops a lease that etcd does not have any more. */
  forget(ttlSeconds: number): void {
    this.#leases.delete(ttlSeconds);
  }

  /**
   * Ids are chosen here below 2^53, as etcd's own do not fit into a number. A call whose answer was lost is retried
   * with the same id: if the id then exists it is this lease, since two of 2^48 random ids do not collide.
   */
  async #grant(ttl: number): Promise<number> {
    const id = 1 + this.#random.int(2 ** 48);
    try {
      await this.#client.call('Lease/LeaseGrant', { TTL: ttl, ID: id }, { doing: 'granting a lease' });
    } catch (error) {
      if (!/lease already exists/.test(String(error))) throw error;
    }
    return id;
  }
}
