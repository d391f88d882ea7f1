/** The discovery documents: legacy lists per group version, and aggregated discovery. Upstream: endpoints/discovery. */
import type { APIGroup, APIGroupList, APIResource, APIResourceList, APIVersions } from '../../api/gen/meta-v1.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import { apiVersionOf, type ResourceInfo, type SubresourceInfo } from '../../api/resource-info.ts';
import { compareTexts } from '../../base/compare-texts.ts';
import type { GroupEntry, VersionEntry } from './groups.ts';

/** What `/api` answers. `serverAddress`: host and port clients reach us at. */
export function apiVersions(serverAddress: string): APIVersions {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

export function apiGroup({ group, versions }: GroupEntry): APIGroup {
  const list = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group, version }), version }));
  return { name: group, versions: list, preferredVersion: list[0]! };
}

/** What `/apis` answers. */
export function apiGroupList(groups: readonly GroupEntry[]): APIGroupList {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.filter(({ group }) => group !== '').map(apiGroup) };
}

function verbsOf({ verbs, hiddenVerbs = [] }: ResourceInfo): string[] {
  return verbs.filter((verb) => !hiddenVerbs.includes(verb));
}

function resourceEntry(info: ResourceInfo, storageVersionHash: string | undefined): APIResource {
  return {
    name: info.resource,
    singularName: info.singular,
    namespaced: info.namespaced,
    kind: info.kind,
    verbs: verbsOf(info),
    ...(info.shortNames.length === 0 ? {} : { shortNames: [...info.shortNames] }),
    ...(info.categories.length === 0 ? {} : { categories: [...info.categories] }),
    ...(storageVersionHash === undefined ? {} : { storageVersionHash }),
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

/** What `/api/v1` and `/apis/<group>/<version>` answer. `hashOf`: of what is stored, the hash of the version it is stored in. */
export function apiResourceList(
  group: string,
  { version, resources }: VersionEntry,
  hashOf: (info: ResourceInfo) => string | undefined,
): APIResourceList {
  const entries = resources
    .toSorted((a, b) => compareTexts(a.resource, b.resource))
    .flatMap((info) => [
      resourceEntry(info, hashOf(info)),
      ...info.subresources.map((sub) => subresourceEntry(info, sub)),
    ]);
  return {
    kind: 'APIResourceList',
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion: apiVersionOf({ group, version }),
    resources: entries,
  };
}

/**
 * The text of the aggregated document of `/api` (core: true) or `/apis`, and the end of its line. Equal for v2 and v2beta1 but for its apiVersion.
 * It is rebuilt when a kind is added or removed, so the part of each resource is kept.
 */
export function aggregatedText(
  groups: readonly GroupEntry[],
  { core, version }: { core: boolean; version: string },
): string {
  const items = groups.filter(({ group }) => (group === '') === core).map(groupText);
  const head = JSON.stringify({ kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}` });
  return `${head.slice(0, -1)},"metadata":{},"items":[${items.join(',')}]}\n`;
}

function groupText({ group, versions }: GroupEntry): string {
  const metadata = JSON.stringify(group === '' ? {} : { name: group });
  const texts = versions.map(({ version, resources, foreign }) => {
    const list =
      foreign?.resources === undefined
        ? `[${resources.map(resourceText).join(',')}]`
        : JSON.stringify(foreign.resources);
    const freshness = foreign?.stale === true ? 'Stale' : 'Current';
    return `{"version":${JSON.stringify(version)},"resources":${list},"freshness":"${freshness}"}`;
  });
  return `{"metadata":${metadata},"versions":[${texts.join(',')}]}`;
}

const resourceTexts = new WeakMap<ResourceInfo, string>();

function resourceText(info: ResourceInfo): string {
  let text = resourceTexts.get(info);
  if (text === undefined) resourceTexts.set(info, (text = JSON.stringify(aggregatedResource(info))));
  return text;
}

function aggregatedResource(info: ResourceInfo): object {
  const { group, version, kind } = info;
  // Built-in kinds leave out what is their own group and version; definitions name it.
  const isBuiltIn = schemaOf(group, version, kind) !== undefined;
  const own = { group: isBuiltIn ? '' : group, version: isBuiltIn ? '' : version };
  return {
    resource: info.resource,
    responseKind: { ...own, kind },
    scope: info.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: info.singular,
    verbs: verbsOf(info),
    ...(info.shortNames.length === 0 ? {} : { shortNames: [...info.shortNames] }),
    ...(info.categories.length === 0 ? {} : { categories: [...info.categories] }),
    ...(info.subresources.length === 0
      ? {}
      : { subresources: info.subresources.map((sub) => aggregatedSubresource(info, sub, own)) }),
  };
}

/** `own`: how the resource itself names its group and version. */
function aggregatedSubresource(
  info: ResourceInfo,
  { name, group, version, kind, verbs }: SubresourceInfo,
  own: { readonly group: string; readonly version: string },
): object {
  const isOwn = group === info.group && version === info.version;
  return { subresource: name, responseKind: { ...(isOwn ? own : { group, version }), kind }, verbs: [...verbs] };
}
