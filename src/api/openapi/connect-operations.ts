// Operations that connect: exec, attach, port-forward, and the proxies with and without a trailing path. Upstream: the CONNECT
// actions of endpoints/installer.go.

import type { ResourceInfo, SubresourceInfo } from '../resource-info.ts';
import { namesOf, pascal, scopeName, type OperationFact, type PathFact } from './operation-facts.ts';
import { type ParameterFact, pathParameter, subresourceParameters } from './parameters.ts';

const CONNECTABLE = new Set(['attach', 'exec', 'portforward', 'proxy']);

const METHOD_OF_VERB: Readonly<Record<string, OperationFact['method']>> = {
  create: 'post',
  delete: 'delete',
  get: 'get',
  patch: 'patch',
  update: 'put',
};

/** Whether requests to the sub-resource are forwarded to a kubelet, a pod or a service. */
export function isConnect(subresource: string): boolean {
  return CONNECTABLE.has(subresource);
}

interface ConnectPath {
  readonly path: string;
  /** The parameters in the path. */
  readonly parameters: readonly ParameterFact[];
}

export function connectPaths(info: ResourceInfo, sub: SubresourceInfo, { path, parameters }: ConnectPath): PathFact[] {
  const own = subresourceParameters[sub.name] ?? [];
  const verbs = sub.verbs.flatMap((verb) => METHOD_OF_VERB[verb] ?? []);
  const methods: readonly OperationFact['method'][] = sub.name === 'proxy' ? [...verbs, 'head', 'options'] : verbs;
  const operations = (suffix: string): OperationFact[] =>
    methods.map((method) => operation(info, sub, { method, suffix }));
  const plain = { path, parameters: [...parameters, ...own], operations: operations('') };
  if (sub.name !== 'proxy') return [plain];
  const behind = pathParameter('path', 'Path of the request behind the proxy.');
  const withPath = {
    path: `${path}/{path}`,
    parameters: [...parameters, behind, ...own],
    operations: operations('WithPath'),
  };
  return [plain, withPath];
}

function operation(
  info: ResourceInfo,
  sub: SubresourceInfo,
  { method, suffix }: { readonly method: OperationFact['method']; readonly suffix: string },
): OperationFact {
  const { id, tag } = namesOf(info);
  return {
    method,
    id: `connect${id}${pascal(method)}${scopeName(info)}${info.kind}${pascal(sub.name)}${suffix}`,
    tag,
    description: `connect ${method.toUpperCase()} requests to ${sub.name} of ${info.kind}`,
    action: 'connect',
    gvk: { group: sub.group, kind: sub.kind, version: sub.version },
    parameters: [],
    body: undefined,
    bodyTypes: ['*/*'],
    result: undefined,
    produces: 'any',
    codes: ['200'],
  };
}
