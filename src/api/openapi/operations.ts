// The operations of a resource independent of the OpenAPI version: paths, verbs, parameters, bodies and results, also of custom
// resources. Upstream: endpoints/installer.go as kube-openapi sees its routes.

import { compareTexts } from '../../base/compare-texts.ts';
import type { ResourceInfo } from '../resource-info.ts';
import { connectPaths, isConnect } from './connect-operations.ts';
import { groupVersionRoot, namesOf, type OperationFact, pascal, type PathFact, scopeName } from './operation-facts.ts';
import {
  deleteCollectionParameters,
  deleteParameters,
  listParameters,
  type ParameterFact,
  patchParameters,
  pathParameter,
  prettyParameter,
  subresourceParameters,
  writeParameters,
} from './parameters.ts';
import { watchPaths } from './watch-operations.ts';
import { appendAll } from '../../base/lists.ts';

/** Type names of a resource's objects and lists, and of a sub-resource's body. */
export interface ResourceTypes {
  readonly object: string;
  readonly list: string;
  readonly subresource: (kind: { group: string; version: string; kind: string }) => string | undefined;
  /** Whether deleting an object returns the object; otherwise a Status. */
  readonly returnsDeleted?: boolean;
  /** Custom resources do not support strategic merge patch; clients read the supported patch types here. */
  readonly custom?: boolean;
}

const ANY_BODY = ['*/*'];
const PATCH_BODIES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

const customPatchBodies = PATCH_BODIES.filter((type) => !type.includes('strategic'));

interface VerbFact {
  readonly method: OperationFact['method'];
  readonly prefix: string;
  readonly action: string;
  readonly parameters: readonly ParameterFact[];
  readonly codes: OperationFact['codes'];
}

const verbs: Record<string, VerbFact> = {
  list: { method: 'get', prefix: 'list', action: 'list', parameters: listParameters, codes: ['200'] },
  create: {
    method: 'post',
    prefix: 'create',
    action: 'post',
    parameters: writeParameters,
    codes: ['200', '201', '202'],
  },
  deletecollection: {
    method: 'delete',
    prefix: 'delete',
    action: 'deletecollection',
    parameters: deleteCollectionParameters,
    codes: ['200'],
  },
  get: { method: 'get', prefix: 'read', action: 'get', parameters: [], codes: ['200'] },
  update: { method: 'put', prefix: 'replace', action: 'put', parameters: writeParameters, codes: ['200', '201'] },
  patch: { method: 'patch', prefix: 'patch', action: 'patch', parameters: patchParameters, codes: ['200', '201'] },
  delete: { method: 'delete', prefix: 'delete', action: 'delete', parameters: deleteParameters, codes: ['200', '202'] },
};

const COLLECTION_VERBS = ['list', 'create', 'deletecollection'];
const OBJECT_VERBS = ['get', 'update', 'patch', 'delete'];

/** All paths of a resource and its sub-resources. */
export function pathsOfResource(info: ResourceInfo, types: ResourceTypes): PathFact[] {
  const root = groupVersionRoot(info.group, info.version);
  const scoped = info.namespaced ? `${root}/namespaces/{namespace}` : root;
  const namespace = info.namespaced ? [pathParameter('namespace', 'Namespace of the object.')] : [];
  const name = pathParameter('name', `Name of the ${info.kind}.`);
  const out: PathFact[] = [];
  const push = (
    path: string,
    parameters: readonly ParameterFact[],
    operations: (OperationFact | undefined)[],
  ): void => {
    const present = operations.filter((o) => o !== undefined);
    if (present.length > 0)
      out.push(withSharedParameters({ path, parameters: [...parameters, prettyParameter], operations: present }));
  };
  push(
    `${scoped}/${info.resource}`,
    namespace,
    COLLECTION_VERBS.map((verb) => operation(verb, { info, types })),
  );
  push(
    `${scoped}/${info.resource}/{name}`,
    [name, ...namespace],
    OBJECT_VERBS.map((verb) => operation(verb, { info, types })),
  );
  if (info.namespaced && info.verbs.includes('list')) {
    push(`${root}/${info.resource}`, [], [operation('list', { info, types, suffix: 'ForAllNamespaces' })]);
  }
  for (const sub of info.subresources) {
    const path = `${scoped}/${info.resource}/{name}/${sub.name}`;
    if (isConnect(sub.name)) appendAll(out, connectPaths(info, sub, { path, parameters: [name, ...namespace] }));
    else
      push(
        path,
        [...(subresourceParameters[sub.name] ?? []), name, ...namespace],
        sub.verbs.map((verb) => subOperation(verb, info, { sub, types })),
      );
  }
  // As upstream, custom resources have no deprecated watch paths.
  if (types.custom !== true) appendAll(out, watchPaths(info));
  return out;
}

/** The parameters of a path's only operation are the path's, sorted by name. */
function withSharedParameters(fact: PathFact): PathFact {
  const [only, ...others] = fact.operations;
  if (only === undefined || others.length > 0 || only.parameters.length === 0) return fact;
  const parameters = [...fact.parameters, ...only.parameters].toSorted((a, b) => compareTexts(a.name, b.name));
  return { ...fact, parameters, operations: [{ ...only, parameters: [] }] };
}

interface Target {
  info: ResourceInfo;
  types: ResourceTypes;
  /** The suffix of the operation's id; an operation with a suffix spans all namespaces. */
  suffix?: string;
}

function operation(verb: string, { info, types, suffix }: Target): OperationFact | undefined {
  const fact = verbs[verb];
  if (fact === undefined || !info.verbs.includes(verb)) return undefined;
  const { group, version, kind } = info;
  const scope = suffix === undefined ? scopeName(info) : '';
  const collection = verb === 'deletecollection' ? 'Collection' : '';
  return {
    ...common(fact, info, types),
    id: `${fact.prefix}${namesOf(info).id}${collection}${scope}${kind}${suffix ?? ''}`,
    description: `${verb} ${kind} objects`,
    gvk: { group, kind, version },
    body: bodyOf(verb, types.object),
    result: resultOf(verb, types),
    produces: verb === 'list' ? 'list' : 'object',
  };
}

interface Sub {
  sub: ResourceInfo['subresources'][number];
  types: ResourceTypes;
}

function subOperation(verb: string, info: ResourceInfo, { sub, types }: Sub): OperationFact | undefined {
  const fact = verbs[verb];
  if (fact === undefined) return undefined;
  const isLog = sub.name === 'log';
  const type = isLog ? undefined : types.subresource(sub);
  return {
    ...common(fact, info, types),
    id: `${fact.prefix}${namesOf(info).id}${scopeName(info)}${info.kind}${pascal(sub.name)}`,
    description: `${verb} ${sub.name} of ${info.kind} objects`,
    gvk: { group: sub.group, kind: sub.kind, version: sub.version },
    body: type === undefined ? undefined : bodyOf(verb, type),
    result: type,
    produces: isLog ? 'text' : 'object',
  };
}

function common(
  fact: VerbFact,
  info: ResourceInfo,
  { custom }: ResourceTypes,
): Pick<OperationFact, 'method' | 'tag' | 'action' | 'parameters' | 'bodyTypes' | 'codes'> {
  const { method, action, parameters, codes } = fact;
  const bodyTypes = method !== 'patch' ? ANY_BODY : custom === true ? customPatchBodies : PATCH_BODIES;
  return { method, tag: namesOf(info).tag, action, parameters, codes, bodyTypes };
}

function bodyOf(verb: string, object: string): string | undefined {
  if (verb === 'patch') return 'meta.v1.Patch';
  if (verb === 'create' || verb === 'update') return object;
  return verb === 'delete' || verb === 'deletecollection' ? 'meta.v1.DeleteOptions' : undefined;
}

function resultOf(verb: string, { object, list, returnsDeleted }: ResourceTypes): string {
  if (verb === 'list') return list;
  if (verb === 'deletecollection' || (verb === 'delete' && returnsDeleted !== true)) return 'meta.v1.Status';
  return object;
}
