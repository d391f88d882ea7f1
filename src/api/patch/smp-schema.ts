// The schema of a field as strategic merge patch uses it. Upstream: strategicpatch.LookupPatchMeta.

import type { StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { PatchError } from './patch-error.ts';

/** How a field is patched. `type` is undefined without a schema; the rules of merge patch apply there. */
export interface PatchMeta {
  readonly type: TypeSchema | undefined;
  readonly strategies: readonly string[];
  readonly mergeKey: string | undefined;
}

const unknownMeta: PatchMeta = { type: undefined, strategies: [], mergeKey: undefined };

/**
 * The patch rules of the field `key` in a value of `type`. As upstream, a field that the struct lacks is an error, and so is an
 * object or list merged into an entry of a map.
 */
export function fieldMeta(type: TypeSchema | undefined, key: string): PatchMeta {
  if (type?.kind === 'map')
    throw new PatchError(500, 'merging an object in json but data type is not struct, instead is: map');
  if (type?.kind === 'any' && type.form in GO_STRUCTS) throw unknownField(GO_STRUCTS[type.form]!, key);
  if (type?.kind !== 'struct') return unknownMeta;
  const field = type.fields.get(key);
  if (field !== undefined)
    return { type: field.type, strategies: field.patchStrategies, mergeKey: field.patchMergeKey };
  if (type.preserveUnknown) return unknownMeta;
  throw unknownField(shortName(type), key);
}

/** Upstream's structs that hold any value; their Go fields differ from the fields of the value. */
const GO_STRUCTS: Readonly<Record<string, string>> = { object: 'RawExtension', fieldsV1: 'FieldsV1', json: 'JSON' };

function unknownField(struct: string, key: string): PatchError {
  return new PatchError(500, `unable to find api field in struct ${struct} for the json field ${JSON.stringify(key)}`);
}

const shortName = (struct: StructSchema): string => struct.name.slice(struct.name.lastIndexOf('.') + 1);
