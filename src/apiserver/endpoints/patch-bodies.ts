/** Patches by their content type: read from the body, and applied to an object. Upstream: endpoints/handlers/patch.go (jsonPatcher, smpPatcher). */
import { JsonSyntaxError } from '../../api/codec/json-parser.ts';
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { parseClientJson } from '../../api/codec/parts.ts';
import { jsonKind } from '../../api/codec/scalars.ts';
import type { FieldValidation } from '../../api/codec/typed.ts';
import { asWritten } from '../../api/codec/written-form.ts';
import { readYaml } from '../../api/codec/yaml-codec.ts';
import { jsonPatch } from '../../api/patch/json-patch.ts';
import { mergePatch } from '../../api/patch/merge-patch.ts';
import { PatchError } from '../../api/patch/patch-error.ts';
import { strategicMergePatch } from '../../api/patch/strategic-merge-patch.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import {
  badRequest,
  requestEntityTooLarge,
  StatusError,
  statusFailure,
  unsupportedMediaType,
} from '../../api/status-error.ts';
import type { RequestScope } from '../request-scope.ts';
import { readBytes } from './body.ts';

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
 * Upstream's texts. Differs: its 422 omits the cause, which is part of the text here; and what its strategic
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

export interface ReadPatch {
  readonly type: PatchType;
  readonly value: unknown;
  readonly duplicates: readonly string[];
  readonly mode: FieldValidation;
}
