/**
 * The fields a creator owns, remembered by the object's shape: thousands of events differ in nothing but their texts. What
 * is owned follows from the schema, the names of the fields and which values are zero, as long as there are no lists, whose
 * items are named by what they hold. Upstream has no counterpart.
 */
import { Lru } from '../../base/lru.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import type { FieldSet } from './field-set.ts';

/** Shapes remembered for each schema. */
const KNOWN_SHAPES = 64;

const known = new WeakMap<StructSchema, Lru<string, { readonly fields: FieldSet }>>();

/** What `compute` gives for the object, which must be canonical and without managed fields. */
export function createdFields(schema: StructSchema, object: JsonObject, compute: () => FieldSet): FieldSet {
  const shape = shapeOf(object);
  if (shape === undefined) return compute();
  let shapes = known.get(schema);
  if (shapes === undefined) known.set(schema, (shapes = new Lru(KNOWN_SHAPES)));
  const found = shapes.get(shape);
  if (found !== undefined) return found.fields;
  const fields = compute();
  shapes.set(shape, { fields });
  return fields;
}

/** Names and zeros in their order; undefined when there is a list with items. */
function shapeOf(object: JsonObject): string | undefined {
  let shape = '';
  for (const name of Object.keys(object)) {
    const part = partOf(object[name]);
    if (part === undefined) return undefined;
    shape += `${name.length}:${name}${part}`;
  }
  return shape;
}

function partOf(value: unknown): string | undefined {
  if (value === null) return 'n';
  if (value === '') return 's';
  if (value === 0) return '0';
  if (value === false) return 'f';
  if (Array.isArray(value)) return value.length === 0 ? '[]' : undefined;
  if (!isObject(value)) return 'v';
  const inner = shapeOf(value);
  return inner === undefined ? undefined : `{${inner}}`;
}
