/** Applies the result of a mutation's expression to an object. Upstream: mutating/patch/{smd,json_patch}.go. */
import type { JsonObject } from '../../../api/codec/own-property.ts';
import { ObjectLiteral } from '../../../api/cel/mutation-types.ts';
import { TO_JSON } from '../../../api/cel/runtime/values.ts';
import { jsonValue } from '../../../api/cel/values.ts';
import { mergeApplied } from '../../../api/managed-fields/field-merge.ts';
import { jsonPatch } from '../../../api/patch/json-patch.ts';
import type { StructSchema, TypeSchema } from '../../../api/schema/type-schema.ts';

/** A mutation cannot be applied; the message is the reason. */
export class MutationError extends Error {}

/** Merges an apply configuration like server-side apply, without ownership. Throws {@link MutationError}. */
export function applyConfiguration(object: JsonObject, made: unknown, schema: StructSchema): JsonObject {
  if (!(made instanceof ObjectLiteral))
    throw new MutationError('unsupported return type from ApplyConfiguration expression');
  try {
    made.checkPlace();
  } catch (error) {
    throw new MutationError(`type mismatch: ${(error as Error).message}`);
  }
  const applied = made[TO_JSON]() as JsonObject;
  const unknown = unknownFields(schema, applied, '');
  if (unknown.length > 0)
    throw new MutationError(
      `error applying patch: failed to convert patch object to typed object: ${unknown.join('\n')}`,
    );
  const atomics = atomicPaths(schema, applied, '');
  if (atomics.length > 0)
    throw new MutationError(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`,
    );
  return mergeApplied(schema, object, applied) as JsonObject;
}

/** Applies the operations of a JSON patch. Throws {@link MutationError} or the patch's own error. */
export function applyJsonPatch(object: JsonObject, made: unknown): JsonObject {
  const operations = (jsonValue(made) as JsonObject[]).map((operation) => {
    const { op, value } = operation;
    // A null field of a literal is indistinguishable from an absent one, and `add` without value means null.
    return (op === 'add' || op === 'replace' || op === 'test') && value === undefined
      ? { ...operation, value: null }
      : operation;
  });
  return jsonPatch(object, operations) as JsonObject;
}

type Visit = (type: TypeSchema, value: unknown, path: string) => string[];

function below(type: TypeSchema, value: unknown, [path, visit]: readonly [string, Visit]): string[] {
  if (type.kind === 'list' && Array.isArray(value))
    return value.flatMap((item: unknown, index) => visit(type.items, item, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const inner = type.kind === 'struct' ? type.fields.get(key)?.type : type.kind === 'map' ? type.values : undefined;
    return inner === undefined ? [] : visit(inner, item, `${path}.${key}`);
  });
}

function unknownFields(type: TypeSchema, value: unknown, path: string): string[] {
  const own: string[] = [];
  if (type.kind === 'struct' && !type.preserveUnknown && typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value))
      if (!type.fields.has(key)) own.push(`${path}.${key}: field not declared in schema`);
  }
  return [...own, ...below(type, value, [path, unknownFields])];
}

/**
 * Atomic values are refused: setting one drops what the configuration does not contain, which its author may not
 * expect.
 */
function atomicPaths(type: TypeSchema, value: unknown, path: string): string[] {
  const isAtomic =
    (type.kind === 'list' && type.listType === 'atomic' && Array.isArray(value)) ||
    ((type.kind === 'struct' || type.kind === 'map') && type.atomic && typeof value === 'object' && value !== null);
  return [...(isAtomic ? [path] : []), ...below(type, value, [path, atomicPaths])];
}
