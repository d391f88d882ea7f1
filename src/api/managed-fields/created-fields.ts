/**
 * The fields a creator owns, remembered by the object's shape: thousands of events differ in nothing but their texts. What
 * is owned follows from the schema, the names of the fields and which values are zero, as long as there are no lists, whose
 * items are named by what they hold. Upstream has no counterpart.
 */
import { isObject, type JsonObject } from '../codec/own-property.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import type { FieldSet } from './field-set.ts';
import { appendAll } from '../../base/lists.ts';

/** Shapes remembered for each schema: the last ones used, the latest at the end. */
const KNOWN_SHAPES = 32;

/** Names and what stands there, alternately: what `markOf` says, or the shape of an object. */
type Shape = readonly (string | Shape)[];

interface Known {
  readonly shape: Shape;
  readonly fields: FieldSet;
}

const known = new WeakMap<StructSchema, Known[]>();

/** What `compute` gives for the object, which must be canonical and without managed fields. */
export function createdFields(schema: StructSchema, object: JsonObject, compute: () => FieldSet): FieldSet {
  let shapes = known.get(schema);
  if (shapes === undefined) known.set(schema, (shapes = []));
  const at = shapes.findLastIndex(({ shape }) => fits(shape, object));
  const found = shapes[at];
  if (found !== undefined) {
    if (at < shapes.length - 1) appendAll(shapes, shapes.splice(at, 1));
    return found.fields;
  }
  const shape = shapeOf(object);
  const fields = compute();
  if (shape === undefined) return fields;
  if (shapes.length === KNOWN_SHAPES) shapes.shift();
  shapes.push({ shape, fields });
  return fields;
}

function fits(shape: Shape, object: JsonObject): boolean {
  const names = Object.keys(object);
  if (names.length * 2 !== shape.length) return false;
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!;
    if (name !== shape[index * 2]) return false;
    const part = shape[index * 2 + 1]!;
    const value = object[name];
    if (typeof part === 'string' ? part !== markOf(value) : !isObject(value) || !fits(part, value)) return false;
  }
  return true;
}

/** Undefined when there is a list with items. */
function shapeOf(object: JsonObject): Shape | undefined {
  const shape: (string | Shape)[] = [];
  for (const name of Object.keys(object)) {
    const value = object[name];
    const part = isObject(value) ? shapeOf(value) : markOf(value);
    if (part === undefined) return undefined;
    shape.push(name, part);
  }
  return shape;
}

/** Which zero a value that is no object is, if any; undefined for a list with items. */
function markOf(value: unknown): string | undefined {
  if (value === null) return 'null';
  if (value === '') return 'text';
  if (value === 0) return 'number';
  if (value === false) return 'boolean';
  if (Array.isArray(value)) return value.length === 0 ? 'list' : undefined;
  return typeof value === 'object' ? undefined : 'value';
}
