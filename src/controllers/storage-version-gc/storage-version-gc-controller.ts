/**
 * Removes API servers that are gone from StorageVersions, and deletes StorageVersions without a server. Upstream:
 * pkg/controller/storageversiongc, behind the gates APIServerIdentity and StorageVersionAPI; here it runs where
 * internal.apiserver.k8s.io/v1alpha1 is served, and does nothing elsewhere.
 *
 * Watches: StorageVersions, identity leases of API servers. Writes: removes records of servers without a lease.
 */
import type { ServerStorageVersion, StorageVersion } from '../../api/gen/apiserverinternal-v1alpha1.ts';
import { Leases, StorageVersions } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Stored } from '../../api/object.ts';
import { createOptionalInformer } from '../../client/optional-informer.ts';
import { API_SERVER_IDENTITY, IDENTITY_LABEL, statusOfServers } from '../../component-helpers/storage-versions.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const NAME = 'storageversion-garbage-collector-controller';
const ACCOUNT = 'storage-version-garbage-collector';
const NAMESPACE = 'kube-system';

export function createStorageVersionGcController(deps: ControllerDeps): Controller {
  const { clock, log } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const versions = createOptionalInformer(
    { client, informers: deps.informers, clock, log: log.child(NAME) },
    StorageVersions,
  );
  const leases = deps.informers.informer(Leases, {
    namespace: NAMESPACE,
    labelSelector: `${IDENTITY_LABEL}=${API_SERVER_IDENTITY}`,
  });
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'storage_version_garbage_collector_storageversions',
    workers: 1,
    informers: informerList(leases),
    sync: syncStorageVersion,
  });

  async function syncStorageVersion(name: string, signal: AbortSignal): Promise<void> {
    const version = versions.get(name);
    if (version === undefined) return;
    const all = version.status?.storageVersions ?? [];
    const left: ServerStorageVersion[] = [];
    for (const record of all) if (await isAlive(record.apiServerID, signal)) left.push(record);
    if (left.length === all.length) return;
    const { uid, resourceVersion } = version.metadata;
    const identity = { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) };
    const resource = client.resource(StorageVersions);
    try {
      if (left.length === 0) await resource.delete({ name }, { preconditions: identity, signal });
      else
        await resource.updateStatus({ ...version, status: statusOfServers(version, left, clock.nowMs()) }, { signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  /** Reads the lease from the server, as the cache may be behind for a server that has just started. */
  async function isAlive(name: string, signal: AbortSignal): Promise<boolean> {
    const key = { namespace: NAMESPACE, name };
    if (leases.get(key) !== undefined) return true;
    try {
      const lease = await client.resource(Leases).get(key, { signal });
      return lease.metadata.labels?.[IDENTITY_LABEL] === API_SERVER_IDENTITY;
    } catch (error) {
      if (isReason(error, 'NotFound')) return false;
      throw error;
    }
  }

  const enqueue = ({ metadata }: Stored<StorageVersion>): void => loop.queue.add(metadata.name);
  const hasUnknown = ({ status }: StorageVersion): boolean =>
    (status?.storageVersions ?? []).some(
      ({ apiServerID: name }) => leases.get({ namespace: NAMESPACE, name }) === undefined,
    );
  const check = (version: Stored<StorageVersion>): void => {
    if (hasUnknown(version)) enqueue(version);
  };
  versions.addHandler({ onAdd: check, onUpdate: (_, version) => check(version) });
  leases.addHandler({ onDelete: () => versions.list().forEach(check) });
  return {
    name: NAME,
    async start(signal) {
      try {
        await leases.waitForSync(signal);
        if (!(await versions.start(signal))) return;
      } catch (error) {
        if (!signal.aborted) throw error;
        return; // before the first sync
      }
      await loop.start(signal);
    },
  };
}
