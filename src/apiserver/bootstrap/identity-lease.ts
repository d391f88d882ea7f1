/**
 * This API server's identity as a Lease in kube-system, for whoever wants to know which servers there are. Upstream: the
 * apiserver lease controller and its garbage collector (APIServerIdentity). Differs: its name tells servers of one host apart.
 */
import type { Lease } from '../../api/gen/coordination-v1.ts';
import { Leases } from '../../api/gen/resources.ts';
import { formatMicroTime, parseTime } from '../../api/time.ts';
import { API_SERVER_IDENTITY, IDENTITY_LABEL } from '../../component-helpers/storage-versions.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { ownContext } from '../own-context.ts';

const DURATION_SECONDS = 3600;
const RENEW_MS = 10_000;

/** Who this server is. */
export interface ServerIdentity {
  readonly hostname: string;
  /** `host:port` it is reached at. */
  readonly address: string;
}

/** The lease that is kept. */
export interface IdentityLease {
  /** Its name: by this other records know the server. */
  readonly name: string;
  /** Resolves when it stands; that it does not yet is logged, and tried again. */
  readonly stands: Promise<void>;
  stop(): void;
}

/** Keeps the lease, and removes expired ones of others now and once an hour. */
export function startIdentityLease(
  deps: BasePlatform & { readonly objects: ObjectStore },
  identity: ServerIdentity,
): IdentityLease {
  const { clock, random, crypto, log, objects } = deps;
  const name = `apiserver-${crypto.sha256Hex(`${identity.hostname} ${identity.address}`).slice(0, 26)}`;
  const own = leaseOf(name, `${name}_${random.uuid()}`, identity.hostname);
  let isStopped = false;
  const tell = (what: string) => (err: unknown) => {
    if (!isStopped) log.warn(what, { err });
  };
  const renew = (): Promise<void> =>
    renewLease(objects, own, clock.nowMs()).catch(tell("cannot renew this server's identity lease"));
  const collect = (): Promise<void> =>
    removeExpired(objects, clock.nowMs()).catch(tell('cannot remove expired identity leases'));
  const stops = [
    clock.setTicker(RENEW_MS, () => void renew()),
    clock.setTicker(DURATION_SECONDS * 1000, () => void collect()),
  ];
  const stands = renew();
  void collect();
  return {
    name,
    stands,
    stop() {
      isStopped = true;
      for (const stop of stops) stop();
    },
  };
}

function leaseOf(name: string, holderIdentity: string, hostname: string): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace: 'kube-system',
      labels: { [IDENTITY_LABEL]: API_SERVER_IDENTITY, 'kubernetes.io/hostname': hostname },
    },
    spec: { holderIdentity, leaseDurationSeconds: DURATION_SECONDS },
  };
}

/** An earlier life's of this server is taken over. */
async function renewLease(objects: ObjectStore, own: Lease, nowMs: number): Promise<void> {
  const spec = { ...own.spec, renewTime: formatMicroTime(nowMs) };
  const { name = '' } = own.metadata;
  if (objects.get(Leases, 'kube-system', name) === undefined) {
    const made = await objects.ensure(Leases, { ...own, spec });
    if (made.spec?.holderIdentity === spec.holderIdentity) return;
  }
  await objects.guaranteedUpdate(Leases, 'kube-system', name, (lease) => ({
    ...lease,
    spec: { ...lease.spec, ...spec },
  }));
}

async function removeExpired(objects: ObjectStore, nowMs: number): Promise<void> {
  for (const lease of objects.list(Leases, 'kube-system')) {
    if (lease.metadata.labels?.[IDENTITY_LABEL] !== API_SERVER_IDENTITY) continue;
    const { renewTime, leaseDurationSeconds } = lease.spec ?? {};
    // One that does not say when it ends is not valid, and ends at once.
    const endsMs = parseTime(renewTime ?? undefined) + (leaseDurationSeconds ?? Number.NaN) * 1000;
    if (endsMs > nowMs) continue;
    const { name = '', resourceVersion = '' } = lease.metadata;
    const preconditions = { resourceVersion }; // Not one that was renewed just now.
    await objects.delete(
      Leases,
      { namespace: 'kube-system', name },
      { preconditions },
      ownContext('delete', Leases, { namespace: 'kube-system', name }),
    );
  }
}
