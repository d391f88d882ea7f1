/**
 * This API server's identity as a Lease in kube-system, for whoever wants to know which servers there are. Upstream: the
 * apiserver lease controller and its garbage collector. Differs: kept only where several servers share a store or storage
 * versions are recorded, and its name tells servers of one host apart.
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
  stop(): void;
}

/** Keeps the lease and removes expired ones of others once an hour. */
export async function startIdentityLease(
  deps: BasePlatform & { readonly objects: ObjectStore },
  identity: ServerIdentity,
): Promise<IdentityLease> {
  const { clock, random, crypto, log, objects } = deps;
  const name = `apiserver-${crypto.sha256Hex(`${identity.hostname} ${identity.address}`).slice(0, 26)}`;
  const holderIdentity = `${name}_${random.uuid()}`;
  const renew = async (): Promise<void> => {
    const now = formatMicroTime(clock.nowMs());
    const wanted: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name,
        namespace: 'kube-system',
        labels: { [IDENTITY_LABEL]: API_SERVER_IDENTITY, 'kubernetes.io/hostname': identity.hostname },
      },
      spec: { holderIdentity, leaseDurationSeconds: DURATION_SECONDS, renewTime: now },
    };
    await objects.ensure(Leases, wanted);
    await objects.guaranteedUpdate(Leases, 'kube-system', name, (lease) => ({
      ...lease,
      spec: { ...lease.spec, ...wanted.spec },
    }));
  };
  const warn = (err: unknown): void => log.warn("cannot renew this server's identity lease", { err });
  await renew();
  const stops = [
    clock.setTicker(RENEW_MS, () => void renew().catch(warn)),
    clock.setTicker(DURATION_SECONDS * 1000, () => void removeExpired(objects, clock.nowMs()).catch(warn)),
  ];
  return {
    name,
    stop() {
      for (const stop of stops) stop();
    },
  };
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
