/**
 * Claims on cluster IPs and node ports that all servers of one store see: a key per address or port, created only if
 * it does not exist. Addresses are claimed by IPAddress objects, as upstream; ports by a key each, where upstream has
 * one bitmap.
 *
 * Invariants: a claim names its service's uid and is removed only with that service; a claim left by a crash is
 * removed at the next repair, after a grace period that covers writes in progress. Upstream: ipallocator and
 * portallocator with their repair loops.
 */
import type { Service } from '../../../../api/gen/core-v1.ts';
import type { KubernetesObject } from '../../../../api/object.ts';
import { formatTime, parseTime } from '../../../../api/time.ts';
import type { Clock } from '../../../../platform/clock.ts';
import type { Random } from '../../../../platform/random.ts';
import { prefixEnd, type Store } from '../../../../storage/store.ts';
import { encodeStored } from '../../../watch-cache/stored-bytes.ts';

/** A service's claim in a range. */
export type Claim = { readonly kind: 'ip' | 'port'; readonly value: string };

const PREFIXES = { ip: '/registry/ipaddresses/', port: '/registry/ranges/servicenodeports/' } as const;
const OWNER = 'keelson.dev/service-uid';
const GRACE_MS = 60_000;

interface CachedObject {
  readonly key: string;
  readonly revision: number;
  readonly object: KubernetesObject;
}

/** Creates, removes and repairs claims. */
export class SharedClaims {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(deps: { readonly store: Store; readonly clock: Clock; readonly random: Random }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  /** Returns false when another service has the claim. */
  async make(claim: Claim, service: Service): Promise<boolean> {
    const key = keyOf(claim);
    const value = encodeStored(this.#object(claim, service));
    const written = await this.#store.put({ key, value, expectRevision: 0 });
    if (written.ok || written.current === undefined) return written.ok;
    return ownerOf(decode(written.current.value)) === service.metadata.uid;
  }

  /** Releases a claim if it belongs to this service. */
  async remove(claim: Claim, uid: string | undefined): Promise<void> {
    const entry = await this.#store.get(keyOf(claim));
    if (entry === undefined || uid === undefined || ownerOf(decode(entry.value)) !== uid) return;
    await this.#store.delete({ key: entry.key, expectRevision: entry.modRevision });
  }

  /** Removes claims without a service and creates missing ones. `held` gives the claims of a service. */
  async repair(services: readonly Service[], held: (service: Service) => readonly Claim[]): Promise<void> {
    const wanted = new Map<string, { claim: Claim; service: Service }>();
    for (const service of services) for (const claim of held(service)) wanted.set(keyOf(claim), { claim, service });
    for (const { key, revision, object } of await this.#kept()) {
      const holder = wanted.get(key);
      wanted.delete(key);
      if (holder !== undefined || !this.#isOurs(object) || !this.#isOld(object)) continue;
      await this.#store.delete({ key, expectRevision: revision });
    }
    for (const { claim, service } of wanted.values()) await this.make(claim, service);
  }

  async #kept(): Promise<CachedObject[]> {
    const ranges = await Promise.all(
      Object.values(PREFIXES).map((start) => this.#store.range({ start, end: prefixEnd(start) })),
    );
    return ranges.flatMap(({ entries }) =>
      entries.map(({ key, modRevision, value }) => ({ key, revision: modRevision, object: decode(value) })),
    );
  }

  /** Whether the server created the address; addresses that users created are theirs to remove. */
  #isOurs({ metadata }: KubernetesObject): boolean {
    return metadata.annotations?.[OWNER] !== undefined;
  }

  #isOld({ metadata }: KubernetesObject): boolean {
    return parseTime(metadata.creationTimestamp) + GRACE_MS < this.#clock.nowMs();
  }

  #object({ kind, value }: Claim, { metadata }: Service): KubernetesObject {
    const { name = '', namespace = '', uid = '' } = metadata;
    const family = value.includes(':') ? 'IPv6' : 'IPv4';
    const own = {
      name: value,
      uid: this.#random.uuid(),
      creationTimestamp: formatTime(this.#clock.nowMs()),
      annotations: { [OWNER]: uid },
      labels: {
        'ipaddress.kubernetes.io/ip-family': family,
        'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
      },
    };
    const parentRef = { group: '', resource: 'services', namespace, name };
    return kind === 'ip'
      ? ({
          kind: 'IPAddress',
          apiVersion: 'networking.k8s.io/v1',
          metadata: own,
          spec: { parentRef },
        } as KubernetesObject)
      : ({
          kind: 'RangeAllocation',
          apiVersion: 'v1',
          metadata: { ...own, labels: {} },
          range: value,
        } as KubernetesObject);
  }
}

function keyOf({ kind, value }: Claim): string {
  return PREFIXES[kind] + value;
}

function decode(value: Uint8Array): KubernetesObject {
  return JSON.parse(new TextDecoder().decode(value)) as KubernetesObject;
}

function ownerOf(object: KubernetesObject): string | undefined {
  return object.metadata.annotations?.[OWNER];
}
