// The operations of a resource, neutral to the OpenAPI version: paths, verbs, parameters, bodies and results. Works for
// custom resources too. Upstream: endpoints/installer.go as kube-openapi sees its routes.

import type { ResourceInfo } from '../resource-info.ts';

/** A path or query parameter. */
export interface ParameterFact {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

/** One operation; `body` and `result` are type names as the document's maker resolves them. */
export interface OperationFact {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch';
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  readonly action: string;
  readonly gvk: { readonly group: string; readonly kind: string; readonly version: string };
  readonly parameters: readonly ParameterFact[];
  readonly body: string | undefined;
  readonly bodyTypes: readonly string[];
  readonly result: string | undefined;
}

/** A path with its operations and the parameters they share. */
export interface PathFact {
  readonly path: string;
  readonly parameters: readonly ParameterFact[];
  readonly operations: readonly OperationFact[];
}

/** Type names of a resource's objects and lists, and of a sub-resource's body. */
export interface ResourceTypes {
  readonly object: string;
  readonly list: string;
  readonly subresource: (kind: { group: string; version: string; kind: string }) => string | undefined;
  /** Custom resources take no strategic merge patch; clients read here which patch they may send. */
  readonly custom?: boolean;
}

const text = (name: string, description: string): ParameterFact => ({ name, in: 'query', type: 'string', description });
const pathParam = (name: string, description: string): ParameterFact => ({
  name,
  in: 'path',
  type: 'string',
  description,
});
const pretty = text('pretty', "If 'true', the output is indented.");
const dryRun = text('dryRun', "'All' runs every stage of the request but stores nothing.");
const fieldManager = text('fieldManager', 'Name under which the changed fields are recorded as owned.');
const fieldValidation = text(
  'fieldValidation',
  "What to do about unknown and duplicate fields: 'Ignore', 'Warn' or 'Strict'.",
);
const force: ParameterFact = {
  name: 'force',
  in: 'query',
  type: 'boolean',
  description: 'Take over fields other appliers own. Only for apply patches.',
};
const listParameters: readonly ParameterFact[] = [
  { name: 'allowWatchBookmarks', in: 'query', type: 'boolean', description: 'Ask for BOOKMARK events.' },
  text('continue', 'Token of the page to go on from.'),
  text('fieldSelector', 'Restricts the objects by their fields.'),
  text('labelSelector', 'Restricts the objects by their labels.'),
  { name: 'limit', in: 'query', type: 'integer', description: 'Most objects to return in one page.' },
  text('resourceVersion', 'Revision the answer must be at or after.'),
  text('resourceVersionMatch', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  {
    name: 'sendInitialEvents',
    in: 'query',
    type: 'boolean',
    description: 'Begin the watch with the state as ADDED events.',
  },
  { name: 'timeoutSeconds', in: 'query', type: 'integer', description: 'End the request after this time.' },
  { name: 'watch', in: 'query', type: 'boolean', description: 'Stream changes instead of listing.' },
];
const deleteParameters: readonly ParameterFact[] = [
  dryRun,
  {
    name: 'gracePeriodSeconds',
    in: 'query',
    type: 'integer',
    description: 'Seconds the object has to end; 0 means now.',
  },
  { name: 'orphanDependents', in: 'query', type: 'boolean', description: 'Deprecated: use propagationPolicy.' },
  text('propagationPolicy', "What becomes of dependents: 'Orphan', 'Background' or 'Foreground'."),
];
const writeParameters = [dryRun, fieldManager, fieldValidation];
const anyBody = ['*/*'];
const patchBodies = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

const customPatchBodies = patchBodies.filter((type) => !type.includes('strategic'));

interface VerbFact {
  readonly method: OperationFact['method'];
  readonly prefix: string;
  readonly action: string;
  readonly parameters: readonly ParameterFact[];
}

const verbs: Record<string, VerbFact> = {
  list: { method: 'get', prefix: 'list', action: 'list', parameters: listParameters },
  create: { method: 'post', prefix: 'create', action: 'post', parameters: writeParameters },
  deletecollection: {
    method: 'delete',
    prefix: 'deleteCollection',
    action: 'deletecollection',
    parameters: [...listParameters.slice(1), ...deleteParameters],
  },
  get: { method: 'get', prefix: 'read', action: 'get', parameters: [] },
  update: { method: 'put', prefix: 'replace', action: 'put', parameters: writeParameters },
  patch: { method: 'patch', prefix: 'patch', action: 'patch', parameters: [...writeParameters, force] },
  delete: { method: 'delete', prefix: 'delete', action: 'delete', parameters: deleteParameters },
};

const collectionVerbs = ['list', 'create', 'deletecollection'];
const objectVerbs = ['get', 'update', 'patch', 'delete'];
const connectable = new Set(['attach', 'exec', 'portforward', 'proxy']);

/** `rbac.authorization.k8s.io` to `RbacAuthorization`; the core group is `Core`. */
function pascalGroup(group: string): string {
  const words = group
    .replace(/\.k8s\.io$/, '')
    .split(/[.-]/)
    .filter((w) => w !== '');
  return words.length === 0 ? 'Core' : words.map((w) => w.charAt(0).toUpperCase() + w.slice(1)).join('');
}

/** Root of a group version: `/api/v1` or `/apis/apps/v1`. */
export function groupVersionRoot(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** All paths of a resource and its sub-resources. */
export function pathsOfResource(info: ResourceInfo, types: ResourceTypes): PathFact[] {
  const root = groupVersionRoot(info.group, info.version);
  const scoped = info.namespaced ? `${root}/namespaces/{namespace}` : root;
  const namespace = info.namespaced ? [pathParam('namespace', 'Namespace of the object.')] : [];
  const name = pathParam('name', `Name of the ${info.kind}.`);
  const out: PathFact[] = [];
  const push = (
    path: string,
    parameters: readonly ParameterFact[],
    operations: (OperationFact | undefined)[],
  ): void => {
    const present = operations.filter((o) => o !== undefined);
    if (present.length > 0) out.push({ path, parameters: [...parameters, pretty], operations: present });
  };
  push(
    `${scoped}/${info.resource}`,
    namespace,
    collectionVerbs.map((verb) => operation(verb, { info, types })),
  );
  push(
    `${scoped}/${info.resource}/{name}`,
    [name, ...namespace],
    objectVerbs.map((verb) => operation(verb, { info, types })),
  );
  if (info.namespaced && info.verbs.includes('list')) {
    push(`${root}/${info.resource}`, [], [operation('list', { info, types, suffix: 'ForAllNamespaces' })]);
  }
  for (const sub of info.subresources) {
    push(
      `${scoped}/${info.resource}/{name}/${sub.name}`,
      [name, ...namespace],
      sub.verbs.map((verb) => subOperation(verb, info, { sub, types })),
    );
  }
  return out;
}

const scopeName = (info: ResourceInfo): string => (info.namespaced ? 'Namespaced' : '');

interface Target {
  info: ResourceInfo;
  types: ResourceTypes;
  /** What the operation's id ends in; such an operation spans all namespaces. */
  suffix?: string;
}

function operation(verb: string, { info, types, suffix }: Target): OperationFact | undefined {
  const fact = verbs[verb];
  if (fact === undefined || !info.verbs.includes(verb)) return undefined;
  const { group, version, kind } = info;
  const scope = suffix === undefined ? scopeName(info) : '';
  const gone = verb === 'delete' || verb === 'deletecollection';
  return {
    ...common(fact, info, types),
    id: `${fact.prefix}${pascalGroup(group)}${pascal(version)}${scope}${kind}${suffix ?? ''}`,
    description: `${verb} ${kind} objects`,
    gvk: { group, kind, version },
    body: bodyOf(verb, types.object),
    result: verb === 'list' ? types.list : gone ? 'meta.v1.Status' : types.object,
  };
}

interface Sub {
  sub: ResourceInfo['subresources'][number];
  types: ResourceTypes;
}

function subOperation(verb: string, info: ResourceInfo, { sub, types }: Sub): OperationFact | undefined {
  const fact = verbs[verb];
  if (fact === undefined) return undefined;
  const connect = connectable.has(sub.name);
  const type = connect || sub.name === 'log' ? undefined : types.subresource(sub);
  return {
    ...common(fact, info, types),
    action: connect ? 'connect' : fact.action,
    id: `${connect ? `connect${pascal(fact.method)}` : fact.prefix}${pascalGroup(info.group)}${pascal(info.version)}${scopeName(info)}${info.kind}${pascal(sub.name)}`,
    description: `${verb} ${sub.name} of ${info.kind} objects`,
    gvk: { group: sub.group, kind: sub.kind, version: sub.version },
    body: type === undefined ? undefined : bodyOf(verb, type),
    result: type,
  };
}

const pascal = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function common(
  fact: VerbFact,
  info: ResourceInfo,
  { custom }: ResourceTypes,
): Pick<OperationFact, 'method' | 'tag' | 'action' | 'parameters' | 'bodyTypes'> {
  const group = pascalGroup(info.group);
  const tag = `${group.charAt(0).toLowerCase()}${group.slice(1)}_${info.version}`;
  return {
    method: fact.method,
    tag,
    action: fact.action,
    parameters: fact.parameters,
    bodyTypes: fact.method !== 'patch' ? anyBody : custom === true ? customPatchBodies : patchBodies,
  };
}

function bodyOf(verb: string, object: string): string | undefined {
  if (verb === 'patch') return 'meta.v1.Patch';
  if (verb === 'create' || verb === 'update') return object;
  return verb === 'delete' || verb === 'deletecollection' ? 'meta.v1.DeleteOptions' : undefined;
}
