/** The scale sub-resource: an autoscaling/v1 Scale read from and written to its object. Upstream: the ScaleREST of each resource. */
import type { Scale } from '../../api/gen/autoscaling-v1.ts';
import { type JsonObject, isObject } from '../../api/codec/own-property.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { badRequest, conflict, invalid, methodNotAllowed } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { updateObject } from '../generic-registry/update.ts';
import type { ScaleAccess } from '../registry/resource-definition.ts';
import { readObject, shapeObject } from './body.ts';
import type { Call } from './endpoint.ts';
import { fieldValidationOf } from './options.ts';
import { patched, patchTypeOf, readPatch } from './patch.ts';
import { writeAny } from './write-object.ts';
import { checkName, writeRequestOf } from './write-verbs.ts';

const apiVersion = 'autoscaling/v1';

function scaleSchema(): StructSchema {
  const schema = schemaOf('autoscaling', 'v1', 'Scale');
  if (schema === undefined) throw new Error('no schema for Scale');
  return schema;
}

function scaleOf(object: KubernetesObject, access: ScaleAccess<KubernetesObject>): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { specReplicas, statusReplicas, selector } = access.read(object);
  const metadata = JSON.parse(JSON.stringify({ name, namespace, uid, resourceVersion, creationTimestamp })) as Scale['metadata'];
  return { kind: 'Scale', apiVersion, metadata, spec: { replicas: specReplicas }, status: { replicas: statusReplicas, ...(selector === '' ? {} : { selector }) } } as Scale;
}

/** Serves GET, PUT and PATCH of a scale. */
export async function serveScale(call: Call, access: ScaleAccess<KubernetesObject>): Promise<ApiResponse> {
  const { store, scope } = call;
  const { verb } = scope.info;
  if (verb === 'get') return await writeAny(scope, 200, scaleOf(store.object(store.cell(scope.info)), access));
  if (verb !== 'update' && verb !== 'patch') throw methodNotAllowed(store.groupResource, verb);
  const wanted = verb === 'update' ? await fromBody(call) : await fromPatch(call, access);
  const request = writeRequestOf(call, verb === 'update' ? 'UpdateOptions' : 'PatchOptions');
  const { name, namespace } = scope.info;
  const outcome = await updateObject(store, {
    ...request,
    name,
    namespace,
    subresource: 'scale',
    retriesConflicts: true,
    next: (current) => {
      const scale = wanted(current!);
      checkName(scale as KubernetesObject, { name, namespace });
      return scaled(current!, scale, { call, access });
    },
  });
  return await writeAny(scope, 200, scaleOf(outcome.object, access));
}

function scaled(current: KubernetesObject, scale: Scale, { call, access }: { call: Call; access: ScaleAccess<KubernetesObject> }): KubernetesObject {
  const replicas = scale.spec?.replicas ?? 0;
  const name = current.metadata.name ?? '';
  if (replicas < 0) {
    const text = `Invalid value: ${replicas}: must be greater than or equal to 0`;
    throw invalid({ group: 'autoscaling', kind: 'Scale' }, name, [{ reason: 'FieldValueInvalid', field: 'spec.replicas', text }]);
  }
  const given = scale.metadata?.resourceVersion ?? '';
  if (given !== '' && given !== current.metadata.resourceVersion) throw conflict(call.store.groupResource, name);
  const draft = structuredClone(current);
  access.write(draft, replicas);
  return draft;
}

async function fromBody(call: Call): Promise<() => Scale> {
  const mode = fieldValidationOf(call.scope.params, 'UpdateOptions');
  const scale = (await readObject(call.scope, { apiVersion, kind: 'Scale', schema: scaleSchema() }, mode)) as unknown as Scale;
  return () => scale;
}

async function fromPatch(call: Call, access: ScaleAccess<KubernetesObject>): Promise<(current: KubernetesObject) => Scale> {
  const { scope } = call;
  const type = patchTypeOf(scope, false);
  const mode = fieldValidationOf(scope.params, 'PatchOptions');
  const { value, duplicates } = await readPatch(scope, type);
  const schema = scaleSchema();
  return (current) => {
    const before = scaleOf(current, access) as unknown as JsonObject;
    // An applied scale sets its replicas; who owns them is tracked as an update of the scale sub-resource.
    const after = patched(before, { type: type === 'apply' ? 'merge' : type, value }, schema);
    if (!isObject(after)) throw badRequest('the patch does not leave an object');
    return shapeObject(after, { apiVersion, kind: 'Scale', schema }, { mode, duplicates, scope }) as unknown as Scale;
  };
}
