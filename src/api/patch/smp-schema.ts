// What a strategic merge patch needs to know about a field. Upstream: strategicpatch.LookupPatchMeta.

import type { StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { PatchError } from './patch-error.ts';

/** How a field is patched; `type` is undefined where the schema ends and plain merge rules hold. */
export interface PatchMeta {
  readonly type: TypeSchema | undefined;
  readonly strategies: readonly string[];
  readonly mergeKey: string | undefined;
}

const unknownMeta: PatchMeta = { type: undefined, strategies: [], mergeKey: undefined };

/** The meta of a list's or map's element. */
function elementMeta(type: TypeSchema | undefined): PatchMeta {
  if (type?.kind === 'list') return { ...unknownMeta, type: type.items };
  if (type?.kind === 'map') return { ...unknownMeta, type: type.values };
  return unknownMeta;
}

/** The meta of the field `key` within a value of `type`. A struct without the field is an error, as upstream. */
export function fieldMeta(type: TypeSchema | undefined, key: string): PatchMeta {
  if (type?.kind === 'map') return elementMeta(type);
  if (type?.kind !== 'struct') return unknownMeta;
  const field = type.fields.get(key);
  if (field !== undefined)
    return { type: field.type, strategies: field.patchStrategies, mergeKey: field.patchMergeKey };
  if (type.preserveUnknown) return unknownMeta;
  throw new PatchError(
    500,
    `unable to find api field in struct ${shortName(type)} for the json field ${JSON.stringify(key)}`,
  );
}

const shortName = (struct: StructSchema): string => struct.name.slice(struct.name.lastIndexOf('.') + 1);
