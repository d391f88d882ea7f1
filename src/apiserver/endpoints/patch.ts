/** PATCH in its four kinds: JSON patch, merge patch, strategic merge patch and server-side apply. Upstream: endpoints/handlers/patch.go. */
import { keepReset } from '../../api/managed-fields/managed-entries.ts';
import { shown } from '../../base/shown.ts';
import { sortedByKey, sortKeys } from '../../base/stable-json.ts';
import { stringifyJson } from '../../api/codec/json.ts';
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { DecodeError, decodeTyped } from '../../api/codec/typed.ts';
import { jsonOf, type KubernetesObject, objectOf } from '../../api/object.ts';
import { goPrint } from '../../api/codec/go-print.ts';
import { type FieldCause, invalid } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { stepByStep, type Steps } from '../../base/steps.ts';
import { updateObject, type UpdateRequest } from '../generic-registry/update.ts';
import type { RequestScope } from '../request-scope.ts';
import { applyConfiguration, configurationOf } from './apply-configuration.ts';
import { checkCustomKind, checkKind, missingKind, otherKindProblem, unknownKind } from './expected-kind.ts';
import type { Call } from './endpoint.ts';
import { fieldValidationOf } from './options.ts';
import { patched, type PatchType, patchTypeOf, readPatch, type ReadPatch } from './patch-bodies.ts';
import { checkName, expectedOf, writeOutcome, writeRequestOf } from './write-verbs.ts';

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
    keepReset(result, object);
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
      throw patchedFailure(call, patch, { result, error });
    }
    if (scope.isLarge) yield;
    checkName(draft, scope.info);
    store.definition.strategy.applyDefaults?.(draft);
    return draft;
  };
  return (current) => stepByStep(steps(current), () => scope.pause());
}

/** Strategic merge patches change no kind; what the others make must be of the kind. Throws DecodeError, 400 and 422. */
function checkPatchedKind(call: Call, { type }: ReadPatch, result: unknown): void {
  if (type === 'strategic' || !isObject(result)) return;
  const expected = expectedOf(call);
  if (expected.schema.custom === true) {
    const { kind } = result;
    if (typeof kind !== 'string' || kind === '') throw new DecodeError(missingKind(stringifyJson(sortKeys(result))));
    return expected.isKindKept === true ? undefined : checkCustomKind(result, expected);
  }
  const { apiVersion, kind } = { ...expected, ...result } as { apiVersion: unknown; kind: unknown };
  const problem =
    unknownKind(shown(apiVersion ?? ''), shown(kind ?? '')) ?? otherKindProblem(expected, apiVersion, kind);
  if (problem !== undefined && typeof apiVersion === 'string' && typeof kind === 'string')
    throw new DecodeError(problem);
  checkKind(result, expected);
}

interface FailedPatch {
  readonly result: unknown;
  readonly error: unknown;
}

/** The error for a result that is no object of the kind: upstream shows the patch as Go prints it, or the result. */
function patchedFailure(call: Call, { type, value }: ReadPatch, { result, error }: FailedPatch): unknown {
  if (!(error instanceof DecodeError)) return error;
  const sorted = call.store.definition.schema === undefined ? sortedByKey : sortKeys<object>;
  const printed = type === 'strategic' ? goPrint(value) : stringifyJson(isObject(result) ? sorted(result) : result);
  const text = `Invalid value: ${JSON.stringify(printed)}: ${error.message}`;
  return invalid({ group: '', kind: '' }, '', [{ reason: 'FieldValueInvalid', field: 'patch', text }]);
}

/**
 * Parts that a status patch need not copy: the spec, which is restored anyway, and the values in metadata and status. The objects
 * metadata and status themselves are copied, because strategies and admission change them. A spec in the patch is copied deeply,
 * because defaults are written into it.
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

function applying(call: Call, patch: ReadPatch, manager: string): UpdateRequest['next'] {
  return applyConfiguration(call, { config: configurationOf(call, patch), manager, subresource: call.subresource });
}
