/** Sub-resources one POSTs a body to (binding, eviction, token), and resources without storage (reviews). */
import { matchesFields } from '../../api/field-selector.ts';
import { type KubernetesObject, objectOf } from '../../api/object.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import { methodNotAllowed, noSuchPath } from '../../api/status-error.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { ensureNamespaceMatches } from '../generic-registry/create.ts';
import { trackDraft } from '../generic-registry/field-tracking.ts';
import { selectionOf } from '../generic-registry/selection.ts';
import { admissionAttributes } from '../generic-registry/write.ts';
import { negotiate } from '../negotiation.ts';
import type { CreateSubresource, VirtualResource } from '../registry/resource-definition.ts';
import { readObject } from './body.ts';
import type { Call } from './endpoint.ts';
import { writeList } from './list.ts';
import { fieldValidationOf } from './options.ts';
import { writeAny, writeObject } from './write-object.ts';
import { expectedOf, writeRequestOf } from './write-verbs.ts';

/** Serves POST on a sub-resource. */
export async function serveCreateSubresource(call: Call, handler: CreateSubresource): Promise<ApiResponse> {
  const { store, scope, subresource } = call;
  const { name, namespace, verb } = scope.info;
  if (verb !== 'create') throw methodNotAllowed();
  const sub = store.info.subresources.find((one) => one.name === subresource);
  const schema = sub && schemaOf(sub.group, sub.version, sub.kind);
  if (sub === undefined || schema === undefined) throw noSuchPath();
  const request = writeRequestOf(call, 'CreateOptions');
  const mode = fieldValidationOf(scope.params, 'CreateOptions');
  const expected = { apiVersion: apiVersionOf(sub), kind: sub.kind, schema, olderVersion: handler.olderVersion };
  const body = objectOf(await readObject(scope, expected, mode));
  scope.trace?.mark('decode');
  ensureNamespaceMatches(store, body, namespace);
  const attributes = admissionAttributes(store, request, {
    operation: 'CREATE',
    subresource,
    namespace,
    name,
    object: body,
  });
  await store.services.admission.mutate(attributes);
  scope.trace?.mark('mutating admission');
  await store.services.admission.validate(attributes);
  scope.trace?.mark('validating admission');
  const result = await handler.create({ namespace, name, body, dryRun: request.dryRun, context: scope });
  if (scope.trace !== undefined) {
    scope.trace.mark('store');
    const { uid = '' } = body.metadata;
    if (!request.dryRun) scope.trace.wrote('bind', { uid, namespace, name });
  }
  return await writeAny(scope, 201, result);
}

/** Serves a resource without storage. */
export async function serveVirtual(call: Call, virtual: VirtualResource): Promise<ApiResponse> {
  const { store, scope } = call;
  const { name, namespace, verb } = scope.info;
  if (verb === 'create' && virtual.create !== undefined) {
    const request = writeRequestOf(call, 'CreateOptions');
    const mode = fieldValidationOf(scope.params, 'CreateOptions');
    const draft = objectOf(await readObject(scope, expectedOf(call), mode));
    store.definition.strategy.applyDefaults?.(draft);
    ensureNamespaceMatches(store, draft, namespace);
    // Answers carry it; callers in this process read none.
    if (!scope.request.wantsObjects)
      await trackDraft(store, { draft, live: undefined, manager: request.manager, context: scope });
    if (scope.isLarge) await scope.pause();
    const attributes = admissionAttributes(store, request, {
      operation: 'CREATE',
      subresource: '',
      namespace,
      name: '',
      object: draft,
    });
    await store.services.admission.mutate(attributes);
    await store.services.admission.validate(attributes);
    if (scope.isLarge) await scope.pause();
    const { kind, apiVersion, metadata, ...rest } = await virtual.create(draft, scope, namespace);
    if (scope.isLarge) await scope.pause();
    const answer: KubernetesObject = { kind: kind!, apiVersion: apiVersion!, metadata, ...rest };
    return await writeAny(scope, 201, answer);
  }
  if (verb === 'get' && virtual.get !== undefined)
    return await writeObject(store, scope, { status: 200, object: await virtual.get(name, scope) });
  if (verb === 'list' && virtual.list !== undefined) {
    const { labels, fields } = selectionOf(store, scope);
    const objects = (await virtual.list(scope)).filter(
      (object) => labels.matches(object.metadata.labels) && matchesFields(fields, store.fieldsOf(object)),
    );
    return await listVirtual(call, objects);
  }
  throw methodNotAllowed();
}

async function listVirtual(call: Call, objects: readonly KubernetesObject[]): Promise<ApiResponse> {
  const { store, scope } = call;
  if (scope.request.wantsObjects) {
    return {
      kind: 'object',
      status: 200,
      headers: {},
      object: { kind: store.info.listKind, apiVersion: store.apiVersion, metadata: {}, items: objects },
    };
  }
  const form = negotiate(scope.request.headers['accept'], {
    as: ['Table', 'PartialObjectMetadataList'],
    protobuf: true,
    stream: false,
  });
  const { group, version, listKind } = store.info;
  const schema = schemaOf(group, version, listKind);
  const object = (index: number): KubernetesObject => objects[index]!;
  return await writeList(call, { form, count: objects.length, object, metadata: {}, schema });
}
