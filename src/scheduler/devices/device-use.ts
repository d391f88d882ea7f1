/**
 * The devices that the claims' allocations use, kept as claims change: a pass over all claims for each scheduling attempt would
 * cost seconds with thousands of shared devices. Upstream: allocatedDevices of plugins/dynamicresources.
 */
import type { AllocationResult, ResourceClaim } from '../../api/gen/resource-v1.ts';
import { changedShares, type Amounts } from './consumed-capacity.ts';
import { deviceKey } from './device-pools.ts';

/** Devices in use. An allocation with admin access uses nothing. */
export interface UsedDevices {
  /** Keys of devices that are allocated as a whole. */
  readonly inUse: Pick<ReadonlySet<string>, 'has'>;
  /** The consumption of all shares of shared devices, by the device's key. */
  readonly shares: Pick<ReadonlyMap<string, Amounts>, 'has' | 'get'>;
}

/** Look-ups are live: they change with the claims. */
export class DeviceUse implements UsedDevices {
  readonly #claims = new Map<string, ResourceClaim>();
  /** The number of allocations by device. */
  readonly #exclusive = new Map<string, number>();
  readonly #shares = new Map<string, { readonly amounts: Amounts; readonly count: number }>();
  readonly inUse = this.#exclusive;
  readonly shares: UsedDevices['shares'] = {
    has: (key) => this.#shares.has(key),
    get: (key) => this.#shares.get(key)?.amounts,
  };
  /** Increases with every change. */
  version = 0;

  claim(uid: string): ResourceClaim | undefined {
    return this.#claims.get(uid);
  }

  set(claim: ResourceClaim): void {
    const uid = uidOf(claim);
    const before = this.#claims.get(uid)?.status?.allocation;
    const now = claim.status?.allocation;
    this.#claims.set(uid, claim);
    this.version++;
    if (before === now) return;
    this.#count(before, -1);
    this.#count(now, 1);
  }

  delete(claim: ResourceClaim): void {
    const uid = uidOf(claim);
    this.#count(this.#claims.get(uid)?.status?.allocation, -1);
    this.#claims.delete(uid);
    this.version++;
  }

  /** Adds allocations that claims do not show yet. */
  add(allocation: AllocationResult): void {
    this.#count(allocation, 1);
  }

  #count(allocation: AllocationResult | undefined, by: 1 | -1): void {
    for (const result of allocation?.devices?.results ?? []) {
      if (result.adminAccess === true) continue;
      const key = deviceKey(result);
      if (result.shareID === undefined) this.#countExclusive(key, by);
      else this.#countShare(key, result.consumedCapacity ?? {}, by);
    }
  }

  #countExclusive(key: string, by: 1 | -1): void {
    const count = (this.#exclusive.get(key) ?? 0) + by;
    if (count === 0) this.#exclusive.delete(key);
    else this.#exclusive.set(key, count);
  }

  #countShare(key: string, consumed: Amounts, by: 1 | -1): void {
    const before = this.#shares.get(key);
    const count = (before?.count ?? 0) + by;
    if (count === 0) this.#shares.delete(key);
    else this.#shares.set(key, { amounts: changedShares(before?.amounts, consumed, by), count });
  }
}

/** The use of these claims. */
export function deviceUseOf(claims: Iterable<ResourceClaim>): DeviceUse {
  const use = new DeviceUse();
  for (const claim of claims) use.set(claim);
  return use;
}

/** Both uses together. */
export function joinedUse(one: UsedDevices, other: UsedDevices): UsedDevices {
  return {
    inUse: { has: (key) => one.inUse.has(key) || other.inUse.has(key) },
    shares: {
      has: (key) => one.shares.has(key) || other.shares.has(key),
      get(key) {
        const amounts = other.shares.get(key);
        return amounts === undefined ? one.shares.get(key) : changedShares(one.shares.get(key), amounts, 1);
      },
    },
  };
}

function uidOf({ metadata }: ResourceClaim): string {
  return metadata.uid ?? '';
}
