/** The scale sub-resource: an autoscaling/v1 Scale read from and written to its object. Upstream: the ScaleREST of each resource. */
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import type { Scale } from '../../api/gen/autoscaling-v1.ts';
import { jsonOf, type KubernetesObject, objectOf } from '../../api/object.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { badRequest, conflict, internalError, invalid, statusFailure } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { updateObject, type UpdateRequest } from '../generic-registry/update.ts';
import type { WriteRequest } from '../generic-registry/write.ts';
import { ageCell, ageColumn, integerColumn, printerOf } from '../registry/printing.ts';
import { type ScaleAccess, UNSET_REPLICAS } from '../registry/resource-definition.ts';
import { applyConfiguration } from './apply-configuration.ts';
import { readObject, shapeObject } from './body.ts';
import type { Call } from './endpoint.ts';
import { fieldValidationOf } from './options.ts';
import { patched, type PatchType, patchTypeOf, readPatch } from './patch-bodies.ts';
import { checkPatchOptions } from './patch.ts';
import { scaleOf } from './scale-object.ts';
import { writeAny } from './write-object.ts';
import { checkName, writeRequestOf } from './write-verbs.ts';

const API_VERSION = 'autoscaling/v1';

function scaleSchema(): StructSchema {
  const schema = schemaOf('autoscaling', 'v1', 'Scale');
  if (schema === undefined) throw new Error('no schema for Scale');
  return schema;
}

const printer = printerOf<KubernetesObject>(
  [integerColumn('Desired'), integerColumn('Available'), ageColumn],
  (object, nowMs) => {
    const { spec, status } = object as Scale;
    return [spec?.replicas ?? 0, status?.replicas ?? 0, ageCell(object, nowMs)];
  },
);

async function writeScale({ store, scope }: Call, scale: Scale): Promise<ApiResponse> {
  return await writeAny(scope, 200, scale, { printer, nowMs: store.services.clock.nowMs() });
}

/** Serves GET, PUT and PATCH of a scale. */
export async function serveScale(call: Call, access: ScaleAccess<KubernetesObject>): Promise<ApiResponse> {
  const { store, scope } = call;
  const { verb } = scope.info;
  if (verb === 'get') {
    const cell = store.cell(scope.info);
    await store.prepare([cell]);
    const scale = scaleOf(store.object(cell), access);
    if (scale.spec?.replicas === UNSET_REPLICAS) throw internalError(`${replicasField(access)} does not exist`);
    return await writeScale(call, scale);
  }
  const request = writeRequestOf(call, verb === 'update' ? 'UpdateOptions' : 'PatchOptions');
  const type = verb === 'update' ? undefined : patchTypeOf(scope, store.definition.schema !== undefined);
  if (type === 'apply') return await applyScale(call, access, request);
  const wanted = type === undefined ? await fromBody(call) : await fromPatch(call, access, type);
  const outcome = await updateObject(store, {
    ...scaleUpdateOf(call, request),
    next: (current) => {
      const scale = wanted(current!);
      checkName(scale as KubernetesObject, scope.info);
      return withReplicas(current!, scale, { call, access });
    },
  });
  return await writeScale(call, scaleOf(outcome.object, access));
}

function scaleUpdateOf({ scope }: Call, request: WriteRequest): Omit<UpdateRequest, 'next'> {
  const { name, namespace } = scope.info;
  return { ...request, name, namespace, subresource: 'scale', retriesConflicts: true };
}

function replicasField({ replicasPath }: ScaleAccess<KubernetesObject>): string {
  return `the spec replicas field ${JSON.stringify(`.${replicasPath.join('.')}`)}`;
}

function checkReplicas(replicas: number, name: string): void {
  if (replicas >= 0) return;
  const text = `Invalid value: ${replicas}: must be greater than or equal to 0`;
  throw invalid({ group: 'autoscaling', kind: 'Scale' }, name, [
    { reason: 'FieldValueInvalid', field: 'spec.replicas', text },
  ]);
}

function withReplicas(
  current: KubernetesObject,
  scale: Scale,
  { call, access }: { call: Call; access: ScaleAccess<KubernetesObject> },
): KubernetesObject {
  const replicas = scale.spec?.replicas ?? 0;
  const name = current.metadata.name ?? '';
  if (replicas === UNSET_REPLICAS) throw badRequest(`${replicasField(access)} cannot be empty`);
  // Custom resources are validated whole.
  if (call.store.definition.schema === undefined) checkReplicas(replicas, name);
  const expected = scale.metadata?.resourceVersion ?? '';
  if (expected !== '' && expected !== current.metadata.resourceVersion) throw conflict(call.store.groupResource, name);
  const draft = structuredClone(current);
  access.write(draft, replicas);
  return draft;
}

async function fromBody(call: Call): Promise<() => Scale> {
  const mode = fieldValidationOf(call.scope.params, 'UpdateOptions');
  const scale = objectOf<Scale>(
    await readObject(call.scope, { apiVersion: API_VERSION, kind: 'Scale', schema: scaleSchema() }, mode),
  );
  return () => scale;
}

async function fromPatch(
  call: Call,
  access: ScaleAccess<KubernetesObject>,
  type: PatchType,
): Promise<(current: KubernetesObject) => Scale> {
  const { scope } = call;
  const mode = fieldValidationOf(scope.params, 'PatchOptions');
  const { value, duplicates } = await readPatch(scope, type);
  const schema = scaleSchema();
  return (current) => {
    const before = jsonOf(scaleOf(current, access));
    const after = patched(before, { type, value }, schema);
    if (!isObject(after)) throw badRequest('the patch does not leave an object');
    return objectOf<Scale>(
      shapeObject(after, { apiVersion: API_VERSION, kind: 'Scale', schema }, { mode, duplicates, scope }),
    );
  };
}

/** The configuration of an applied scale: the replicas alone. */
function configurationOf(call: Call, access: ScaleAccess<KubernetesObject>, replicas: number): JsonObject {
  const { store, scope } = call;
  const { name, namespace } = scope.info;
  const nested = access.replicasPath.reduceRight<unknown>((inner, key) => ({ [key]: inner }), replicas) as JsonObject;
  return { apiVersion: store.apiVersion, kind: store.info.kind, metadata: { name, namespace }, ...nested };
}

/** Upstream applies to the scale of a custom resource only what it has already: its converter knows no Scale that is made anew. */
function notConverted({ metadata }: Scale): Error {
  const object = `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}; ${API_VERSION}, Kind=Scale`;
  const problem = `request to convert CR to an invalid group/version: ${API_VERSION}`;
  return statusFailure(500, '', `failed to convert new object (${object}) to proper version: ${problem}`);
}

/** Server-side apply: the object's replicas are owned, and fought over, like any other field. */
async function applyScale(
  call: Call,
  access: ScaleAccess<KubernetesObject>,
  request: WriteRequest,
): Promise<ApiResponse> {
  const { store, scope } = call;
  const { name } = scope.info;
  checkPatchOptions(scope, 'apply');
  const mode = fieldValidationOf(scope.params, 'PatchOptions');
  const { value, duplicates } = await readPatch(scope, 'apply');
  const scale = objectOf<Scale>(
    shapeObject(
      value,
      { apiVersion: API_VERSION, kind: 'Scale', schema: scaleSchema() },
      { mode, duplicates, scope, shape: 'sparse' },
    ),
  );
  if (scale.metadata?.name !== undefined) checkName(scale as KubernetesObject, scope.info);
  const replicas = scale.spec?.replicas;
  if (replicas == null) throw badRequest('an applied scale must set spec.replicas');
  if (store.definition.schema === undefined) checkReplicas(replicas, name);
  const config = configurationOf(call, access, replicas);
  const applying = applyConfiguration(call, { config, manager: request.manager, subresource: 'scale' });
  const isCustom = store.definition.schema !== undefined;
  const next: UpdateRequest['next'] = async (live) => {
    const draft = await applying(live);
    if (isCustom && live !== undefined && access.read(live).specReplicas !== replicas) throw notConverted(scale);
    return draft;
  };
  const outcome = await updateObject(store, { ...scaleUpdateOf(call, request), tracksFields: true, next });
  return await writeScale(call, scaleOf(outcome.object, access));
}
