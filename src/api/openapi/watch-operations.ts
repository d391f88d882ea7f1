// The deprecated paths below `/watch/`. Upstream: the WATCH and WATCHLIST actions of endpoints/installer.go.

import type { ResourceInfo } from '../resource-info.ts';
import { groupVersionRoot, namesOf, scopeName, type OperationFact, type PathFact } from './operation-facts.ts';
import { listParameters, pathParameter, prettyParameter } from './parameters.ts';

/** The paths of a resource that can be watched. */
export function watchPaths(info: ResourceInfo): PathFact[] {
  if (!info.verbs.includes('watch')) return [];
  const root = `${groupVersionRoot(info.group, info.version)}/watch`;
  const scoped = info.namespaced ? `${root}/namespaces/{namespace}` : root;
  const namespace = info.namespaced ? [pathParameter('namespace', 'Namespace of the object.')] : [];
  const name = pathParameter('name', `Name of the ${info.kind}.`);
  const scope = scopeName(info);
  const common = [prettyParameter, ...listParameters];
  const paths: PathFact[] = [
    {
      path: `${scoped}/${info.resource}`,
      parameters: [...namespace, ...common],
      operations: [operation(info, `${scope}${info.kind}List`, 'watchlist')],
    },
    {
      path: `${scoped}/${info.resource}/{name}`,
      parameters: [name, ...namespace, ...common],
      operations: [operation(info, `${scope}${info.kind}`, 'watch')],
    },
  ];
  if (info.namespaced)
    paths.push({
      path: `${root}/${info.resource}`,
      parameters: common,
      operations: [operation(info, `${info.kind}ListForAllNamespaces`, 'watchlist')],
    });
  return paths;
}

function operation(info: ResourceInfo, name: string, action: string): OperationFact {
  const { id, tag } = namesOf(info);
  const { group, version, kind } = info;
  return {
    method: 'get',
    id: `watch${id}${name}`,
    tag,
    description: `watch ${kind} objects; deprecated: list with the parameter watch`,
    action,
    gvk: { group, kind, version },
    parameters: [],
    body: undefined,
    bodyTypes: ['*/*'],
    result: 'meta.v1.WatchEvent',
    produces: 'list',
    codes: ['200'],
  };
}
