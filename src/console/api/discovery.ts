/** The kinds that the server has, from aggregated discovery in two requests. */
import { sendJson } from './http.ts';
import type { Kind } from './kinds.ts';

interface Entry {
  readonly resource: string;
  readonly responseKind?: { readonly kind: string };
  readonly scope: 'Namespaced' | 'Cluster';
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly subresources?: readonly { readonly subresource: string }[];
}

/** The fields of APIGroupDiscoveryList that are read here. */
export interface GroupList {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly { readonly version: string; readonly resources: readonly Entry[] }[];
  }[];
}

const ACCEPT = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Core kinds first, then the other groups. */
export async function discoverKinds(): Promise<readonly Kind[]> {
  const ask = (path: string): Promise<GroupList> => sendJson<GroupList>(path, { headers: { Accept: ACCEPT } });
  const [core, groups] = await Promise.all([ask('/api'), ask('/apis')]);
  return [...kindsOf(core), ...kindsOf(groups)];
}

/** Each resource once, in the first version that has it: discovery lists the preferred version first. */
export function kindsOf({ items }: GroupList): readonly Kind[] {
  return items.flatMap(({ metadata: { name: group = '' }, versions }) => {
    const byResource = new Map<string, Kind>();
    for (const { version, resources } of versions)
      for (const entry of resources)
        if (!byResource.has(entry.resource)) byResource.set(entry.resource, kindOf(entry, group, version));
    return [...byResource.values()];
  });
}

function kindOf(entry: Entry, group: string, version: string): Kind {
  return {
    group,
    version,
    resource: entry.resource,
    kind: entry.responseKind?.kind ?? entry.resource,
    namespaced: entry.scope === 'Namespaced',
    verbs: entry.verbs,
    shortNames: entry.shortNames ?? [],
    singular: entry.singularResource,
    subresources: (entry.subresources ?? []).map(({ subresource }) => subresource),
  };
}
