/**
 * Which API servers are there, when several share a store: each keeps a key that goes away by itself when its server does.
 * The endpoints of the `kubernetes` Service are the addresses of all. Upstream: the lease endpoint reconciler, whose keys
 * and times these are.
 */
import type { Endpoints } from '../../api/gen/core-v1.ts';
import { type Clock, settledWithin } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { prefixEnd, type Store } from '../../storage/store.ts';
import type { AdvertisedAddress } from './kubernetes-service.ts';

/** The keys of the servers that share a store; each server renews its own every ten seconds. */
export const MASTER_LEASES = '/registry/masterleases/';
const TTL_SECONDS = 15;
const PERIOD_MS = 10_000;
/** The time limit of removing the key, which expires a few seconds later anyway. */
const LEAVE_WITHIN_MS = 3_000;

export interface EndpointLeases {
  /** Addresses of all servers, in order of the address; this server's own among them. */
  addresses(): Promise<readonly AdvertisedAddress[]>;
  /** Makes this server known and keeps it so; `changed` is called after each renewal. Resolves when it is known. */
  start(changed: () => void): Promise<void>;
  /** Takes this server off, so that clients turn to the others at once. */
  stop(): Promise<void>;
}

/** Presence over a store; where this server is the store's only writer it is simply there. */
export function createEndpointLeases(
  deps: { readonly store: Store; readonly clock: Clock; readonly log: Log },
  own: AdvertisedAddress,
): EndpointLeases {
  const { store, clock, log } = deps;
  if (store.latestRevision === undefined)
    return { addresses: async () => [own], start: async () => undefined, stop: async () => undefined };
  const key = MASTER_LEASES + own.ip;
  const renew = async (): Promise<void> => {
    await store.put({ key, value: encode(own), ttlSeconds: TTL_SECONDS });
  };
  let stopTicker = (): void => undefined;
  return {
    async addresses() {
      const { entries } = await store.range({ start: MASTER_LEASES, end: prefixEnd(MASTER_LEASES) });
      const others = entries
        .filter((entry) => entry.key !== key)
        .flatMap((entry) => decode(entry.key, entry.value, own));
      return [own, ...others].sort((a, b) => (a.ip < b.ip ? -1 : 1));
    },
    async start(changed) {
      await renew();
      stopTicker = clock.setTicker(PERIOD_MS, () => {
        renew().then(changed, (err: unknown) =>
          log.warn('cannot renew this server in the kubernetes endpoints', { err }),
        );
      });
    },
    async stop() {
      stopTicker();
      const leaving = store
        .delete({ key })
        .catch((err: unknown) => log.warn('cannot take this server off the kubernetes endpoints', { err }));
      await settledWithin(clock, LEAVE_WITHIN_MS, leaving);
    },
  };
}

function encode({ ip, port }: AdvertisedAddress): Uint8Array {
  const endpoints: Endpoints = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {},
    subsets: [{ addresses: [{ ip }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
  };
  return new TextEncoder().encode(JSON.stringify(endpoints));
}

/** Upstream's servers write the address alone, or protobuf: the key says the address, and all listen at one port. */
function decode(key: string, value: Uint8Array, own: AdvertisedAddress): AdvertisedAddress[] {
  const ip = key.slice(MASTER_LEASES.length);
  try {
    const { subsets } = JSON.parse(new TextDecoder().decode(value)) as Endpoints;
    return [{ ip, port: subsets?.[0]?.ports?.[0]?.port ?? own.port }];
  } catch {
    return [{ ip, port: own.port }];
  }
}
