/** The discovery documents: legacy lists per group version, and aggregated discovery. Upstream: endpoints/discovery. */
import type { APIGroup, APIGroupList, APIResource, APIResourceList, APIVersions } from '../../api/gen/meta-v1.ts';
import { apiVersionOf, type ResourceInfo, type SubresourceInfo } from '../../api/resource-info.ts';
import type { GroupEntry, VersionEntry } from './groups.ts';

/** What `/api` answers. `serverAddress`: host and port clients reach us at. */
export function apiVersions(serverAddress: string): APIVersions {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

/** One group. */
export function apiGroup({ group, versions }: GroupEntry): APIGroup {
  const list = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group, version }), version }));
  return { name: group, versions: list, preferredVersion: list[0]! };
}

/** What `/apis` answers. */
export function apiGroupList(groups: readonly GroupEntry[]): APIGroupList {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.filter(({ group }) => group !== '').map(apiGroup) };
}

function resourceEntry(info: ResourceInfo): APIResource {
  return {
    name: info.resource,
    singularName: info.singular,
    namespaced: info.namespaced,
    kind: info.kind,
    verbs: [...info.verbs],
    ...(info.shortNames.length === 0 ? {} : { shortNames: [...info.shortNames] }),
    ...(info.categories.length === 0 ? {} : { categories: [...info.categories] }),
  };
}

function subresourceEntry(info: ResourceInfo, sub: SubresourceInfo): APIResource {
  const foreign = sub.group !== info.group || sub.version !== info.version;
  return {
    name: `${info.resource}/${sub.name}`,
    singularName: '',
    namespaced: info.namespaced,
    ...(foreign ? { group: sub.group, version: sub.version } : {}),
    kind: sub.kind,
    verbs: [...sub.verbs],
  };
}

/** What `/api/v1` and `/apis/<group>/<version>` answer. */
export function apiResourceList(group: string, { version, resources }: VersionEntry): APIResourceList {
  const entries = resources.flatMap((info) => [
    resourceEntry(info),
    ...info.subresources.map((sub) => subresourceEntry(info, sub)),
  ]);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group, version }),
    resources: entries,
  };
}

/** The aggregated document of `/api` (core: true) or `/apis`. Equal for v2 and v2beta1 but for its apiVersion. */
export function aggregated(
  groups: readonly GroupEntry[],
  { core, version }: { core: boolean; version: string },
): object {
  const items = groups
    .filter(({ group }) => (group === '') === core)
    .map(({ group, versions }) => ({
      metadata: group === '' ? { creationTimestamp: null } : { name: group, creationTimestamp: null },
      versions: versions.map((entry) => ({
        version: entry.version,
        resources: entry.foreign?.resources ?? entry.resources.map(aggregatedResource),
        freshness: entry.foreign?.stale === true ? 'Stale' : 'Current',
      })),
    }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
}

function aggregatedResource(info: ResourceInfo): object {
  const { group, version, kind } = info;
  return {
    resource: info.resource,
    responseKind: { group, version, kind },
    scope: info.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: info.singular,
    verbs: [...info.verbs],
    ...(info.shortNames.length === 0 ? {} : { shortNames: [...info.shortNames] }),
    ...(info.categories.length === 0 ? {} : { categories: [...info.categories] }),
    ...(info.subresources.length === 0 ? {} : { subresources: info.subresources.map(aggregatedSubresource) }),
  };
}

function aggregatedSubresource(sub: SubresourceInfo): object {
  const { name, group, version, kind, verbs } = sub;
  return { subresource: name, responseKind: { group, version, kind }, verbs: [...verbs] };
}
