/**
 * Records in StorageVersions which version this server stores each built-in resource in, and which it can read and serves,
 * beside what other servers of the same store say. Only where internal.apiserver.k8s.io/v1alpha1 is served
 * (`--runtime-config`). Upstream: storageversion.Manager behind the gate StorageVersionAPI; there requests wait for the
 * records, here the server does not listen before they are written.
 */
import type { ServerStorageVersion, StorageVersion } from '../../api/gen/apiserverinternal-v1alpha1.ts';
import { StorageVersions } from '../../api/gen/resources.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import { statusOfServers } from '../../component-helpers/storage-versions.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Clock } from '../../platform/clock.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import type { ObjectStore } from '../registry/object-store.ts';

export interface StorageVersionDeps {
  readonly registry: ResourceRegistry;
  readonly objects: ObjectStore;
  readonly clock: Clock;
}

/** Whether this server keeps such records. */
export function recordsStorageVersions({ registry }: Pick<StorageVersionDeps, 'registry'>): boolean {
  const { group, version, resource } = StorageVersions;
  return registry.find(group, version, resource) !== undefined;
}

/** Writes the records of the server of this identity lease. Resolves when all are stored. */
export async function publishStorageVersions(deps: StorageVersionDeps, apiServerID: string): Promise<void> {
  for (const [name, record] of recordsOf(deps.registry, apiServerID)) await publish(deps, name, record);
}

async function publish({ objects, clock }: StorageVersionDeps, name: string, record: ServerStorageVersion) {
  const { apiServerID } = record;
  await objects.ensure<StorageVersion>(StorageVersions, {
    apiVersion: 'internal.apiserver.k8s.io/v1alpha1',
    kind: 'StorageVersion',
    metadata: { name },
    spec: {},
    status: {},
  });
  await objects.guaranteedUpdate(StorageVersions, '', name, (current) => {
    const before = current.status?.storageVersions ?? [];
    const index = before.findIndex((each) => each.apiServerID === apiServerID);
    const records = index < 0 ? [...before, record] : before.with(index, record);
    const status = statusOfServers(current, records, clock.nowMs());
    return deepEqual(status, current.status) ? undefined : { ...current, status };
  });
}

function recordsOf(registry: ResourceRegistry, apiServerID: string): Map<string, ServerStorageVersion> {
  const byPrefix = Map.groupBy(
    [...registry.served].filter(({ definition }) => definition.storagePrefix !== '' && definition.schema === undefined),
    ({ definition }) => definition.storagePrefix,
  );
  return new Map([...byPrefix.values()].map((stores) => [nameOf(stores), recordOf(stores, apiServerID)]));
}

function nameOf([first]: readonly GenericStore[]): string {
  const { group, resource } = first!.stored.info;
  return `${group === '' ? 'core' : group}.${resource}`;
}

function recordOf(stores: readonly GenericStore[], apiServerID: string): ServerStorageVersion {
  const servedVersions = [...new Set(stores.map(({ apiVersion }) => apiVersion))];
  const encodingVersion = apiVersionOf(stores[0]!.stored.info);
  return {
    apiServerID,
    encodingVersion,
    decodableVersions: [...new Set([encodingVersion, ...servedVersions])].sort(),
    servedVersions,
  };
}
