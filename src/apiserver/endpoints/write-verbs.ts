/** POST, PUT and DELETE of objects and of those sub-resources that are stored with them. Upstream: endpoints/handlers. */
import type { DeleteOptions, Status } from '../../api/gen/meta-v1.ts';
import { type KubernetesObject, objectOf } from '../../api/object.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import { badRequest } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { createObject } from '../generic-registry/create.ts';
import { deleteObject, deleteObjects } from '../generic-registry/delete.ts';
import { listCells } from '../generic-registry/list.ts';
import { renewObject } from '../generic-registry/renew.ts';
import { updateObject } from '../generic-registry/update.ts';
import type { WriteOutcome, WriteRequest } from '../generic-registry/write.ts';
import { negotiate } from '../negotiation.ts';
import { paceOf } from '../turns.ts';
import { readObject, readOptions } from './body.ts';
import type { ExpectedKind } from './expected-kind.ts';
import type { Call } from './endpoint.ts';
import { inTurns, listRequestOf, writeList } from './list.ts';
import { checkDeleteOptions, deleteOptionsOfQuery, dryRunOf, fieldValidationOf, managerOf } from './options.ts';
import type { RequestInfo } from '../request-context.ts';
import { writeAny, writeObject } from './write-object.ts';

/** The kind that the body must have. */
export function expectedOf({ store, subresource }: Call): ExpectedKind {
  const { apiVersion, info, schema } = store;
  return { apiVersion, kind: info.kind, schema, isKindKept: subresource === 'status' };
}

/** The common part of a write. Throws 422 for bad options. */
export function writeRequestOf({ scope }: Call, kind: string): WriteRequest {
  const dryRun = scope.request.query !== '' && dryRunOf(scope.params, kind);
  const manager = managerOf(scope, kind);
  const options = { kind, apiVersion: 'meta.k8s.io/v1', fieldManager: manager, ...(dryRun ? { dryRun: ['All'] } : {}) };
  return { context: scope, dryRun, manager, options };
}

/** Answers with what a write left. */
export function writeOutcome(call: Call, outcome: WriteOutcome): ApiResponse | Promise<ApiResponse> {
  const status = outcome.created ? 201 : 200;
  const { cell, object } = outcome;
  return writeObject(call.store, call.scope, cell === undefined ? { status, object } : { status, cell });
}

/** Serves POST on a collection. */
export async function serveCreate(call: Call): Promise<ApiResponse> {
  const { store, scope } = call;
  const request = writeRequestOf(call, 'CreateOptions');
  const mode = fieldValidationOf(scope.params, 'CreateOptions');
  const draft = objectOf(await readObject(scope, expectedOf(call), mode));
  scope.trace?.mark('decode');
  store.definition.strategy.applyDefaults?.(draft);
  const outcome = await createObject(store, draft, { ...request, namespace: scope.info.namespace });
  return await writeOutcome(call, outcome);
}

/** Throws 400 when the body names another object than the path. A namespace in an object that has none is removed. */
export function checkName(object: KubernetesObject, info: RequestInfo): void {
  const { metadata } = object;
  const namespace = info.apiGroup === '' && info.resource === 'namespaces' ? '' : info.namespace;
  if (namespace === '') delete metadata.namespace;
  else if (![undefined, '', namespace].includes(metadata.namespace))
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  const own = metadata.name ?? '';
  if (own === '')
    throw badRequest(`the name of the object (${info.name} based on URL) was undeterminable: name must be provided`);
  if (own !== info.name)
    throw badRequest(`the name of the object (${own}) does not match the name on the URL (${info.name})`);
}

/** Serves PUT. */
export async function serveUpdate(call: Call): Promise<ApiResponse> {
  const { store, scope, subresource } = call;
  const { name, namespace } = scope.info;
  const request = writeRequestOf(call, 'UpdateOptions');
  const { body: sent } = scope.request;
  if (sent.kind === 'object' && subresource === '' && scope.audited === undefined) {
    const renewed = await renewObject(store, { ...request, name, namespace, object: sent.object });
    if (renewed !== undefined) return await writeOutcome(call, renewed);
  }
  const mode = fieldValidationOf(scope.params, 'UpdateOptions');
  const body = objectOf(await readObject(scope, expectedOf(call), mode));
  checkName(body, scope.info);
  store.definition.strategy.applyDefaults?.(body);
  // The strategy changes the draft; only an update without resourceVersion can be run again and needs a fresh one.
  const mayRepeat = !body.metadata.resourceVersion;
  const next = (): KubernetesObject => (mayRepeat ? structuredClone(body) : body);
  const outcome = await updateObject(store, {
    ...request,
    name,
    namespace,
    subresource,
    next,
    retriesConflicts: false,
  });
  return await writeOutcome(call, outcome);
}

async function deleteOptions(call: Call): Promise<DeleteOptions> {
  const schema = schemaOf('meta.k8s.io', 'v1', 'DeleteOptions') ?? schemaOf('', 'v1', 'DeleteOptions');
  if (schema === undefined) throw new Error('no schema for DeleteOptions');
  const body = await readOptions(call.scope, { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions', schema });
  const options = { ...deleteOptionsOfQuery(call.scope.params), ...body } as DeleteOptions;
  checkDeleteOptions(options);
  const { deletionWarning } = call.store.definition;
  const isLeftToServer = options.propagationPolicy === undefined && options.orphanDependents === undefined;
  if (deletionWarning !== undefined && isLeftToServer) call.scope.addWarning(deletionWarning);
  return options;
}

function deleteRequestOf(call: Call, options: DeleteOptions): WriteRequest & { options: DeleteOptions } {
  const dryRun = (options.dryRun ?? []).length > 0;
  return { context: call.scope, dryRun, manager: managerOf(call.scope, 'DeleteOptions'), options };
}

/** Serves DELETE of one object. */
export async function serveDelete(call: Call): Promise<ApiResponse> {
  const { store, scope } = call;
  const { name, namespace } = scope.info;
  const options = await deleteOptions(call);
  const { object, removed } = await deleteObject(store, { ...deleteRequestOf(call, options), name, namespace });
  // 202 for a client that requested, by orphanDependents, deletion of dependents that still exist.
  const status = !removed && options.orphanDependents === false ? 202 : 200;
  if (!removed || store.definition.returnsDeleted === true) return await writeObject(store, scope, { status, object });
  const { group, resource } = store.info;
  const details = { name, ...(group === '' ? {} : { group }), kind: resource, uid: object.metadata.uid! };
  const success: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
  return await writeAny(scope, 200, success);
}

/** Serves DELETE of a collection; answers with what was there. */
export async function serveDeleteCollection(call: Call): Promise<ApiResponse> {
  const { store, scope } = call;
  const options = await deleteOptions(call);
  const page = await listCells(store, { ...listRequestOf(call), limit: 0 });
  const objects = await inTurns(paceOf(scope.request, store.services.clock), page.cells, (cell) => store.object(cell));
  const names = objects.map(({ metadata }) => ({ namespace: metadata.namespace ?? '', name: metadata.name }));
  await deleteObjects(store, names, deleteRequestOf(call, options));
  const isCustom = store.definition.schema !== undefined;
  const metadata = { ...(isCustom && { continue: '' }), resourceVersion: String(page.revision) };
  if (scope.request.wantsObjects) {
    return {
      kind: 'object',
      status: 200,
      headers: {},
      object: { kind: store.info.listKind, apiVersion: store.apiVersion, metadata, items: objects },
    };
  }
  const custom = store.definition.schema !== undefined;
  const form = negotiate(scope.request.headers['accept'], {
    as: ['Table', 'PartialObjectMetadataList'],
    protobuf: !custom,
    stream: false,
  });
  const schema = custom ? undefined : schemaOf(store.info.group, store.info.version, store.info.listKind);
  const object = (index: number): KubernetesObject => objects[index]!;
  return await writeList(call, { form, count: objects.length, object, metadata, schema });
}
