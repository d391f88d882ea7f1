/** Server-side apply. Upstream: endpoints/handlers/patch.go (applyPatcher). */
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { jsonKind } from '../../api/codec/scalars.ts';
import { type ApplyResult, notTyped } from '../../api/managed-fields/apply.ts';
import { ListKeyError } from '../../api/managed-fields/path-element.ts';
import { typeErrors } from '../../api/managed-fields/typed-value.ts';
import { type KubernetesObject, objectOf } from '../../api/object.ts';
import { applyConflict, badRequest, statusFailure } from '../../api/status-error.ts';
import { applyFields } from '../generic-registry/field-tracking.ts';
import type { UpdateRequest } from '../generic-registry/update.ts';
import { isTrue } from '../request-info.ts';
import { shapeObject } from './body.ts';
import type { ExpectedKind } from './expected-kind.ts';
import type { Call } from './endpoint.ts';
import type { ReadPatch } from './patch-bodies.ts';
import { checkName, expectedOf } from './write-verbs.ts';

/** Upstream cannot type such a configuration, and says so before it looks at what field validation asks for. */
function refuseUntyped(value: unknown, { schema, kind, apiVersion }: ExpectedKind): void {
  if (!isObject(value) || value['kind'] !== kind || value['apiVersion'] !== apiVersion) return;
  const problem = typeErrors(schema, value);
  if (problem !== undefined) throw notTyped(value, problem);
}

/** Throws 400 for a configuration of another kind. */
function refuseOtherKind({ apiVersion, kind }: JsonObject, expected: ExpectedKind): void {
  if (apiVersion === expected.apiVersion && kind === expected.kind) return;
  const version = typeof apiVersion === 'string' ? apiVersion : '';
  const shown = version.includes('/') ? version : `/${version}`;
  throw badRequest(`invalid object type: ${shown}, Kind=${typeof kind === 'string' ? kind : ''}`);
}

export function configurationOf(call: Call, patch: ReadPatch): JsonObject {
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
  refuseUntyped(value, expected);
  const config = shapeObject(value, expected, { mode, duplicates, scope, shape: 'sparse' });
  const metadata = isObject(config['metadata']) ? config['metadata'] : {};
  const { name, namespace } = scope.info;
  config['metadata'] = { name, ...(namespace === '' ? {} : { namespace }), ...metadata };
  checkName(objectOf(config), scope.info);
  return config;
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
    if (!result.isUnchanged) store.definition.strategy.applyDefaults?.(draft);
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
