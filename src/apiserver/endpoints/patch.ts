/** PATCH in its four kinds: JSON patch, merge patch, strategic merge patch and server-side apply. Upstream: endpoints/handlers/patch.go. */
import { type Steps, stepByStep } from '../../base/steps.ts';
import { stringifyJson } from '../../api/codec/json.ts';
import { asWritten } from '../../api/codec/written-form.ts';
import { JsonSyntaxError } from '../../api/codec/json-parser.ts';
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { jsonKind } from '../../api/codec/scalars.ts';
import { DecodeError, decodeTyped, type FieldValidation } from '../../api/codec/typed.ts';
import { parseClientJson } from '../../api/codec/parts.ts';
import { readYaml } from '../../api/codec/yaml-codec.ts';
import { undeclaredFields } from '../../api/managed-fields/declared-fields.ts';
import { type ApplyResult, notTyped } from '../../api/managed-fields/field-manager.ts';
import { ListKeyError } from '../../api/managed-fields/path-element.ts';
import { type KubernetesObject, objectOf, jsonOf } from '../../api/object.ts';
import { jsonPatch } from '../../api/patch/json-patch.ts';
import { mergePatch } from '../../api/patch/merge-patch.ts';
import { PatchError } from '../../api/patch/patch-error.ts';
import { strategicMergePatch } from '../../api/patch/strategic-merge-patch.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import {
  applyConflict,
  badRequest,
  type FieldCause,
  invalid,
  requestEntityTooLarge,
  statusFailure,
  StatusError,
  unsupportedMediaType,
} from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { applyFields } from '../generic-registry/field-tracking.ts';
import { type UpdateRequest, updateObject } from '../generic-registry/update.ts';
import { isTrue } from '../request-info.ts';
import type { RequestScope } from '../request-scope.ts';
import { checkKind, type ExpectedKind, readBytes, shapeObject, unknownKind } from './body.ts';
import { goPrint } from '../../api/patch/go-print.ts';
import type { Call } from './endpoint.ts';
import { fieldValidationOf } from './options.ts';
import { checkName, expectedOf, writeOutcome, writeRequestOf } from './write-verbs.ts';

/** Kinds of patches. */
export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

const PATCH_TYPES: ReadonlyMap<string, PatchType> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
]);

/** The kind of patch from the Content-Type. Throws 415. */
export function patchTypeOf(scope: RequestScope, isCustom: boolean): PatchType {
  const header = scope.request.headers['content-type'] ?? '';
  const type = PATCH_TYPES.get(header.split(';')[0]!.trim().toLowerCase());
  if (type !== undefined && !(type === 'strategic' && isCustom)) return type;
  if (!isCustom) throw unsupportedMediaType('415: Unsupported Media Type', {});
  const accepted = [...PATCH_TYPES.keys()].filter((name) => !name.includes('strategic'));
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}

/** The patch as a value. Rejects with 400 and 413. */
export async function readPatch(
  scope: RequestScope,
  type: PatchType,
): Promise<{ value: unknown; duplicates: readonly string[] }> {
  const { body } = scope.request;
  const read = body.kind === 'object' ? { value: body.object, duplicates: [] } : await parsePatch(scope, type);
  if (scope.isLarge) await scope.pause();
  scope.audited?.takeRequestObject(read.value);
  return read;
}

async function parsePatch(
  scope: RequestScope,
  type: PatchType,
): Promise<{ value: unknown; duplicates: readonly string[] }> {
  const bytes = await readBytes(scope);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  try {
    return type === 'apply' ? await readYaml(text, scope.request.yaml) : parseClientJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError || (error as Error).name === 'YamlSyntaxError') {
      throw badRequest(
        type === 'apply'
          ? `error decoding YAML: ${(error as Error).message}`
          : `${type === 'strategic' ? '' : 'error decoding patch: '}${(error as Error).message}`,
      );
    }
    throw error;
  }
}

/** Applies a patch of any kind but apply. Throws 400 and 422. */
export function patched(
  original: JsonObject,
  patch: { type: PatchType; value: unknown },
  schema: StructSchema,
): unknown {
  try {
    if (patch.type === 'json') return jsonPatch(asWritten(original), patch.value);
    if (patch.type === 'strategic' && patch.value === null) return original;
    if (!isObject(patch.value)) throw noObject(patch);
    if (patch.type === 'merge') return mergePatch(original, patch.value);
    return strategicMergePatch(asWritten(original), patch.value, schema);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw patchFailure(error);
  }
}

function noObject({ type, value }: { readonly type: PatchType; readonly value: unknown }): StatusError {
  if (type === 'merge' && value === null) return badRequest('Invalid JSON Patch');
  const why = `json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`;
  return badRequest(type === 'merge' ? `error decoding patch: ${why}` : why);
}

/**
 * Upstream's texts. Differs: its 422 keeps the cause to itself, which here is told beside the text; and what its strategic
 * merge does not foresee (a field the kind lacks) is the client's fault here, 400 instead of 500.
 */
function patchFailure({ code, message }: PatchError): StatusError {
  switch (code) {
    case 413:
      return requestEntityTooLarge(message);
    case 422: {
      const { status } = statusFailure(
        422,
        'Invalid',
        'the server rejected our request due to an error in our request',
      );
      return new StatusError({
        ...status,
        details: { causes: [{ reason: 'UnexpectedServerResponse', message, field: 'patch' }] },
      });
    }
    default:
      return badRequest(message);
  }
}

export async function servePatch(call: Call): Promise<ApiResponse> {
  const { store, scope, subresource } = call;
  const type = patchTypeOf(scope, store.definition.schema !== undefined);
  checkPatchOptions(scope, type);
  const request = writeRequestOf(call, 'PatchOptions');
  const mode = fieldValidationOf(scope.params, 'PatchOptions');
  const { name, namespace } = scope.info;
  const patch = { type, ...(await readPatch(scope, type)), mode };
  const common = { ...request, name, namespace, subresource };
  const update: UpdateRequest =
    type === 'apply'
      ? {
          ...common,
          next: applying(call, patch, request.manager),
          createMissing: true,
          retriesConflicts: true,
          tracksFields: true,
        }
      : { ...common, next: patching(call, patch), retriesConflicts: true };
  return await writeOutcome(call, await updateObject(store, update));
}

/** Throws 422 for options that do not fit the kind of patch. */
export function checkPatchOptions(scope: RequestScope, type: PatchType): void {
  const errors: FieldCause[] = [];
  if (type === 'apply') {
    if ((scope.params.get('fieldManager') ?? '') === '') {
      errors.push({
        reason: 'FieldValueRequired',
        field: 'fieldManager',
        text: 'Required value: is required for apply patch',
      });
    }
  } else if (scope.params.has('force')) {
    errors.push({
      reason: 'FieldValueForbidden',
      field: 'force',
      text: 'Forbidden: may not be specified for non-apply patch',
    });
  }
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', errors);
}

interface ReadPatch {
  readonly type: PatchType;
  readonly value: unknown;
  readonly duplicates: readonly string[];
  readonly mode: FieldValidation;
}

function patching(call: Call, patch: ReadPatch): UpdateRequest['next'] {
  const { store, scope } = call;
  const draftOf = (current: KubernetesObject | undefined, result: unknown): KubernetesObject => {
    checkPatchedKind(call, patch, result);
    const { object, warnings } = decodeTyped(store.schema, result, {
      mode: patch.mode,
      duplicates: patch.duplicates,
      known: call.subresource === 'status' && current !== undefined ? partsOf(current, result) : undefined,
    });
    for (const text of warnings) scope.addWarning(text);
    object['apiVersion'] = store.apiVersion;
    object['kind'] = store.info.kind;
    return objectOf(object);
  };
  const steps = function* (current: KubernetesObject | undefined): Steps<KubernetesObject> {
    const result = patched(jsonOf(current!), patch, store.schema);
    if (scope.isLarge) yield;
    let draft: KubernetesObject;
    try {
      draft = draftOf(current, result);
    } catch (error) {
      throw patchedFailure(patch, result, error);
    }
    if (scope.isLarge) yield;
    checkName(draft, { name: scope.info.name, namespace: scope.info.namespace });
    store.definition.strategy.applyDefaults?.(draft);
    return draft;
  };
  return (current) => stepByStep(steps(current), () => scope.pause());
}

/** Strategic merge patches change no kind; what the others make must be of the kind as a body must. Throws DecodeError and 400. */
function checkPatchedKind(call: Call, { type }: ReadPatch, result: unknown): void {
  if (type === 'strategic' || !isObject(result)) return;
  const { apiVersion, kind } = { ...expectedOf(call), ...result } as { apiVersion: unknown; kind: unknown };
  const isCustom = call.store.definition.schema !== undefined;
  const problem = isCustom ? undefined : unknownKind(String(apiVersion ?? ''), String(kind ?? ''));
  if (problem !== undefined && typeof apiVersion === 'string' && typeof kind === 'string')
    throw new DecodeError(problem);
  checkKind(result, expectedOf(call));
}

/** The error for a result that is no object of the kind: upstream shows the patch as Go prints it, or the result. */
function patchedFailure({ type, value }: ReadPatch, result: unknown, error: unknown): unknown {
  if (!(error instanceof DecodeError)) return error;
  const shown =
    type === 'strategic' ? goPrint(value) : stringifyJson(isObject(result) ? withSortedKeys(result) : result);
  const text = `Invalid value: ${JSON.stringify(shown)}: ${error.message}`;
  return invalid({ group: '', kind: '' }, '', [{ reason: 'FieldValueInvalid', field: 'patch', text }]);
}

function withSortedKeys(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * What a status patch need not copy: the spec as a whole, which is put back anyway, and what metadata and status consist
 * of. These two are the draft's own, for strategies and admission to change. A spec the patch speaks of is copied to the
 * last part: defaults are written into it.
 */
function partsOf({ metadata, ...rest }: KubernetesObject, patchedObject: unknown): JsonObject {
  const { spec, status } = rest as { readonly spec?: unknown; readonly status?: unknown };
  const isSpecKept = isObject(patchedObject) && patchedObject['spec'] === spec;
  return {
    metadata: { ...metadata },
    spec: isSpecKept ? spec : undefined,
    status: isObject(status) ? { ...status } : undefined,
  };
}

/** Upstream cannot type such a configuration, and says so before it looks at what field validation asks for. */
function refuseUndeclared(value: unknown, { schema, kind, apiVersion }: ExpectedKind): void {
  if (!isObject(value) || value['kind'] !== kind || value['apiVersion'] !== apiVersion) return;
  const problem = undeclaredFields(schema, value);
  if (problem !== undefined) throw notTyped(value, problem);
}

/** Throws 400 for a configuration of another kind. */
function refuseOtherKind({ apiVersion, kind }: JsonObject, expected: ExpectedKind): void {
  if (apiVersion === expected.apiVersion && kind === expected.kind) return;
  const version = typeof apiVersion === 'string' ? apiVersion : '';
  const shown = version.includes('/') ? version : `/${version}`;
  throw badRequest(`invalid object type: ${shown}, Kind=${typeof kind === 'string' ? kind : ''}`);
}

function configurationOf(call: Call, patch: ReadPatch): JsonObject {
  const { scope } = call;
  const { value, duplicates, mode } = patch;
  if (!isObject(value) && value !== null)
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`,
    );
  if (isObject(value)) {
    refuseOtherKind(value, expectedOf(call));
    if (isObject(value['metadata']) && value['metadata']['managedFields'] !== undefined)
      throw badRequest('metadata.managedFields must be nil');
  }
  const expected = expectedOf(call);
  refuseUndeclared(value, expected);
  const config = shapeObject(value, expected, { mode, duplicates, scope, shape: 'sparse' });
  const metadata = isObject(config['metadata']) ? config['metadata'] : {};
  const { name, namespace } = scope.info;
  config['metadata'] = { name, ...(namespace === '' ? {} : { namespace }), ...metadata };
  checkName(objectOf(config), { name, namespace });
  return config;
}

function applying(call: Call, patch: ReadPatch, manager: string): UpdateRequest['next'] {
  return applyConfiguration(call, { config: configurationOf(call, patch), manager, subresource: call.subresource });
}

/** Makes the new object of an apply. What it gives throws 409 for fields that others own, unless `force` is asked for. */
export function applyConfiguration(
  { store, scope }: Call,
  { config, manager, subresource }: { config: JsonObject; manager: string; subresource: string },
): UpdateRequest['next'] {
  const force = isTrue(scope.params.get('force'));
  const draftOf = (result: ApplyResult): KubernetesObject => {
    if (result.kind === 'conflict') throw applyConflict(result.message, result.causes);
    const draft = objectOf(structuredClone(result.object));
    store.definition.strategy.applyDefaults?.(draft);
    return draft;
  };
  return (live) => {
    try {
      const applied = applyFields(store, { live, config, manager, subresource, force, context: scope });
      if (!(applied instanceof Promise)) return draftOf(applied);
      return applied.then(async (result) => {
        await scope.pause();
        return draftOf(result);
      }, throwApplyError);
    } catch (error) {
      return throwApplyError(error);
    }
  };
}

function throwApplyError(error: unknown): never {
  if (!(error instanceof ListKeyError)) throw error;
  throw statusFailure(400, 'BadRequest', `failed to create typed patch object: ${error.message}`);
}
