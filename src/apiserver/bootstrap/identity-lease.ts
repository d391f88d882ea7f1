/**
 * This API server's identity as a Lease in kube-system, for clients that list the servers. Upstream: the apiserver lease
 * controller and its garbage collector (APIServerIdentity). Differs: the lease's name distinguishes servers of one host.
 */
import type { Lease } from '../../api/gen/coordination-v1.ts';
import { Leases } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { formatMicroTime, parseTime } from '../../api/time.ts';
import { API_SERVER_IDENTITY, IDENTITY_LABEL } from '../../component-helpers/storage-versions.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { ownContext } from '../own-context.ts';
import { background } from '../../platform/unexpected.ts';

const DURATION_SECONDS = 3600;
const RENEW_MS = 10_000;

export interface ServerIdentity {
  readonly hostname: string;
  /** `host:port` it is reached at. */
  readonly address: string;
}

/** The lease that is kept. */
export interface IdentityLease {
  /** Its name: by this other records know the server. */
  readonly name: string;
  /** Resolves with true when the lease is stored; failures are logged and retried. With false when the server stopped before. */
  readonly stands: Promise<boolean>;
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
  const warn = (what: string) => (err: unknown) => {
    if (!isStopped) log.warn(what, { err });
  };
  const { promise: stands, resolve: standing } = Promise.withResolvers<boolean>();
  const renew = (): Promise<void> =>
    renewLease(objects, own, clock.nowMs()).then(
      () => standing(true),
      warn("cannot renew this server's identity lease"),
    );
  const collect = async (): Promise<void> => {
    for (const lease of expiredOf(objects, clock.nowMs()))
      if (!isStopped && lease.metadata.name !== name)
        await remove(objects, lease).catch(warn('cannot remove an expired identity lease'));
  };
  const stops = [
    clock.setTicker(RENEW_MS, () => background(log, 'the identity lease could not be kept', renew())),
    clock.setTicker(DURATION_SECONDS * 1000, () => background(log, 'the identity lease could not be kept', collect())),
  ];
  background(log, 'the identity lease could not be kept', renew().then(collect));
  return {
    name,
    stands,
    stop() {
      isStopped = true;
      for (const stop of stops) stop();
      standing(false);
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

function expiredOf(objects: ObjectStore, nowMs: number): Lease[] {
  return objects.list(Leases, 'kube-system').filter(({ metadata, spec }) => {
    if (metadata.labels?.[IDENTITY_LABEL] !== API_SERVER_IDENTITY) return false;
    // A lease without an end is invalid, and expires at once.
    const endsMs = parseTime(spec?.renewTime ?? undefined) + (spec?.leaseDurationSeconds ?? Number.NaN) * 1000;
    return !(endsMs > nowMs);
  });
}

/** Not one that its server has renewed since, nor one that another server has removed. */
async function remove(objects: ObjectStore, { metadata }: Lease): Promise<void> {
  const { name = '', resourceVersion = '' } = metadata;
  const key = { namespace: 'kube-system', name };
  try {
    await objects.delete(Leases, key, { preconditions: { resourceVersion } }, ownContext('delete', Leases, key));
  } catch (err) {
    if (!isReason(err, 'NotFound', 'Conflict')) throw err;
  }
}
