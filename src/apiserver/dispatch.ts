/** Chooses the verb's handler for a request on a resource. Upstream: the routes endpoints/installer.go registers. */
import { badRequest, methodNotAllowed, methodNotSupported, noSuchPath, notFound } from '../api/status-error.ts';
import type { ApiResponse } from '../api/transport.ts';
import type { CryptoPort } from '../platform/crypto.ts';
import type { AdmissionChain } from './admission/admission-chain.ts';
import { deprecationOf } from './deprecations.ts';
import { serveConnect } from './endpoints/connect.ts';
import type { Call } from './endpoints/endpoint.ts';
import { serveGet } from './endpoints/get.ts';
import { serveList } from './endpoints/list.ts';
import { servePatch } from './endpoints/patch.ts';
import type { RunningWatches } from './endpoints/running-watches.ts';
import { serveScale } from './endpoints/scale.ts';
import { serveCreateSubresource, serveVirtual } from './endpoints/sub-and-virtual.ts';
import { serveWatch } from './endpoints/watch.ts';
import { serveCreate, serveDelete, serveDeleteCollection, serveUpdate } from './endpoints/write-verbs.ts';
import type { GenericStore } from './generic-registry/generic-store.ts';
import type { RequestInfo } from './request-context.ts';
import type { RequestScope } from './request-scope.ts';

export interface DispatchDeps {
  readonly admission: AdmissionChain;
  readonly watches: RunningWatches;
  readonly crypto: CryptoPort;
}

const SCALE_VERBS = new Set(['get', 'update', 'patch']);
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** Throws where no such path exists for the resource: as much as its scope, this is what its authorization relied on. */
export function checkScope(store: GenericStore, { info, request }: RequestScope): void {
  const { namespace, name, verb, viaWatchPath, subresource } = info;
  if (viaWatchPath === true) {
    if (subresource !== '' || (store.info.namespaced && namespace === '' && name !== '')) throw noSuchPath();
    if (request.method !== 'GET') throw methodNotAllowed();
  }
  if (store.info.namespaced) {
    if (namespace !== '') return;
    if (name !== '' && verb !== 'list' && verb !== 'watch') throw noSuchPath();
    if (verb === 'create' || verb === 'deletecollection') throw methodNotAllowed();
  } else if (namespace !== '' && !isNamespaceItself(info)) {
    throw noSuchPath();
  }
}

/** Whether a path names custom objects outside of their scope. Upstream has no handler there. */
export function isOutOfScope({ definition, info }: GenericStore, { namespace, verb }: RequestInfo): boolean {
  if (definition.schema === undefined) return false;
  return info.namespaced ? namespace === '' && verb !== 'list' && verb !== 'watch' : namespace !== '';
}

/** `/api/v1/namespaces/NAME` has its name for its namespace. */
function isNamespaceItself({ apiGroup, resource, namespace, name }: RequestInfo): boolean {
  return apiGroup === '' && resource === 'namespaces' && namespace === name;
}

/** Serves a request on a resource. Throws or rejects with StatusErrors. */
export function dispatch(
  store: GenericStore,
  scope: RequestScope,
  deps: DispatchDeps,
): ApiResponse | Promise<ApiResponse> {
  scope.trace?.mark('filters');
  checkScope(store, scope);
  if (!METHODS.has(scope.request.method)) throw methodNotAllowed();
  const deprecation = scope.request.wantsObjects ? undefined : deprecationOf(store.definition);
  if (deprecation !== undefined) scope.addWarning(deprecation);
  const { subresource, verb } = scope.info;
  const call: Call = { store, scope, subresource, admission: deps.admission };
  if (subresource !== '') return serveSubresource(call);
  if (scope.info.name !== '' && verb === 'create') throw notServed(store, verb);
  const { virtual } = store.definition;
  if (virtual !== undefined) return serveVirtual(call, virtual);
  if (!store.info.verbs.includes(verb)) throw methodNotAllowed();
  if (scope.info.name === '' && (verb === 'update' || verb === 'patch'))
    throw store.definition.schema === undefined ? methodNotAllowed() : badRequest('name must be provided');
  switch (verb) {
    case 'get':
      return serveGet(call);
    case 'list':
      return serveList(call);
    case 'watch':
      return serveWatch(call, deps);
    case 'create':
      return serveCreate(call);
    case 'update':
      return serveUpdate(call);
    case 'patch':
      return servePatch(call);
    case 'delete':
      return serveDelete(call);
    case 'deletecollection':
      return serveDeleteCollection(call);
    default:
      throw methodNotAllowed();
  }
}

/** The table's own entry for a client's text; never an inherited property. */
function ownOf<T>(table: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Custom resources have a handler of their own, which names the verb. */
function notServed({ definition, groupResource }: GenericStore, verb: string): Error {
  return definition.schema === undefined ? methodNotAllowed() : methodNotSupported(groupResource, verb);
}

function serveSubresource(call: Call): ApiResponse | Promise<ApiResponse> {
  const { store, scope, subresource } = call;
  const { definition } = store;
  const { verb } = scope.info;
  const connect = ownOf(definition.connectSubresources, subresource);
  if (connect !== undefined) {
    if (!connect.methods.includes(scope.request.method)) throw methodNotAllowed();
    return serveConnect(call, connect);
  }
  const create = ownOf(definition.createSubresources, subresource);
  if (create !== undefined) return serveCreateSubresource(call, create);
  if (subresource === 'scale' && definition.scale !== undefined) {
    if (!SCALE_VERBS.has(verb)) throw notServed(store, verb);
    return serveScale(call, definition.scale);
  }
  const sub = ownOf(definition.objectSubresources, subresource);
  if (sub === undefined)
    throw definition.schema === undefined ? noSuchPath() : notFound(store.groupResource, scope.info.name);
  const allowed = store.info.subresources.find((one) => one.name === subresource)?.verbs;
  if (allowed !== undefined && !allowed.includes(verb)) throw notServed(store, verb);
  if (verb === 'get') return serveGet(call);
  if (verb === 'update') return serveUpdate(call);
  if (verb === 'patch') return servePatch(call);
  throw notServed(store, verb);
}
