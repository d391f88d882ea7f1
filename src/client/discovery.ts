/**
 * What the server serves now, built-in and custom, in each group's preferred version. Upstream: client-go discovery
 * ServerPreferredResources over aggregated discovery.
 */
import { allResources } from '../api/gen/resources.ts';
import type { APIGroupDiscoveryList, APIResourceDiscovery } from '../api/gen/apidiscovery-v2.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Client } from './client.ts';

const ACCEPT = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

export interface Discovered {
  readonly resources: ResourceInfo<KubernetesObject>[];
  /**
   * Group versions whose content is unknown at present because an aggregated server is down:
   * `metrics.k8s.io/v1beta1`.
   */
  readonly stale: string[];
}

interface CachedDiscovery {
  readonly bodies: readonly Uint8Array[];
  readonly found: Discovered;
}

/**
 * The last responses of each client's server with their parsed form: discovery is requested often and seldom changes.
 */
const knownByClient = new WeakMap<Client, CachedDiscovery>();

/** The same by the body of `/apis`, which servers in this process share. */
const knownByBody = new WeakMap<Uint8Array, CachedDiscovery>();

/** Asks the server. Built-in resources come as their own descriptors. Results are shared: never mutate them. */
export async function discoverResources(client: Client, signal?: AbortSignal): Promise<Discovered> {
  const bodies: Uint8Array[] = [];
  for (const path of ['/api', '/apis']) {
    const answer = await client.raw({
      method: 'GET',
      path,
      headers: { accept: ACCEPT },
      signal,
    });
    bodies.push(answer.body);
  }
  const last = knownByClient.get(client) ?? knownByBody.get(bodies.at(-1)!);
  if (last !== undefined && bodies.every((body, index) => isSame(body, last.bodies[index]!))) return last.found;
  const found: Discovered = { resources: [], stale: [] };
  for (const body of bodies) readGroups(found, body);
  knownByClient.set(client, { bodies, found });
  knownByBody.set(bodies.at(-1)!, { bodies, found });
  return found;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || Buffer.compare(a, b) === 0;
}

function readGroups(found: Discovered, body: Uint8Array): void {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  const list = JSON.parse(text) as APIGroupDiscoveryList;
  if (list.kind !== 'APIGroupDiscoveryList') throw new Error('the server does not serve aggregated discovery');
  for (const group of list.items) addGroup(found, group);
}

function addGroup(found: Discovered, group: APIGroupDiscoveryList['items'][number]): void {
  const name = group.metadata.name ?? '';
  const seen = new Set<string>();
  for (const { version, resources, freshness } of group.versions ?? []) {
    if (freshness === 'Stale') {
      found.stale.push(name === '' ? version : `${name}/${version}`);
      continue;
    }
    for (const resource of resources ?? []) {
      if (seen.has(resource.resource)) continue;
      seen.add(resource.resource);
      found.resources.push(builtIn(name, version, resource) ?? fromDiscovery(name, version, resource));
    }
  }
}

function builtIn(
  group: string,
  version: string,
  { resource, responseKind }: APIResourceDiscovery,
): ResourceInfo<KubernetesObject> | undefined {
  const info = allResources.find((i) => i.group === group && i.version === version && i.resource === resource);
  return info?.kind === responseKind?.kind ? (info as ResourceInfo<KubernetesObject>) : undefined;
}

function fromDiscovery(group: string, version: string, resource: APIResourceDiscovery): ResourceInfo<KubernetesObject> {
  const kind = resource.responseKind?.kind ?? '';
  return {
    group,
    version,
    resource: resource.resource,
    kind,
    listKind: `${kind}List`,
    singular: resource.singularResource,
    namespaced: resource.scope === 'Namespaced',
    verbs: resource.verbs,
    subresources: (resource.subresources ?? []).map((sub) => ({
      name: sub.subresource,
      group: sub.responseKind?.group || group,
      version: sub.responseKind?.version || version,
      kind: sub.responseKind?.kind ?? '',
      verbs: sub.verbs,
    })),
    shortNames: resource.shortNames ?? [],
    categories: resource.categories ?? [],
  };
}
