/**
 * The fields a creator owns, remembered by the object's shape: thousands of events and pods differ in nothing but their texts.
 * What is owned follows from the schema, the names of the fields, which values are zero, and what identifies the items of
 * lists. Upstream has no counterpart.
 */
import { appendAll } from '../../base/lists.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import type { FieldSet } from './field-set.ts';
import { ANYTHING, childType, granularList, type ObjectShape } from './field-shape.ts';

/** Shapes remembered for each schema: the last ones used, the latest at the end. */
const KNOWN_SHAPES = 32;
/** Objects with more fields and items than this are not remembered. */
const LARGEST_SHAPE = 500;

/** An object: the names of its fields, each followed by what the field holds. */
type Shape = readonly (string | Part)[];

/** What `markOf` says, the shape of an object, or a list's items. */
type Part = string | Shape | ListShape;

/** The items of a list that are owned apart. */
class ListShape {
  readonly list: ListSchema;
  /** For each item: its value in a set; in other lists the values of its keys, in their order, and its shape. */
  readonly items: readonly (readonly [identity: readonly unknown[], shape: Part])[];

  constructor(list: ListSchema, items: ListShape['items']) {
    this.list = list;
    this.items = items;
  }
}

interface Known {
  readonly shape: Shape;
  readonly fields: FieldSet;
}

const known = new WeakMap<StructSchema, Known[]>();

/**
 * What `compute` gives for the object, which must follow from its shape. The object is decoded, without managed fields; fields
 * may be undefined.
 */
export function createdFields(schema: StructSchema, object: JsonObject, compute: () => FieldSet): FieldSet {
  let shapes = known.get(schema);
  if (shapes === undefined) known.set(schema, (shapes = []));
  const at = shapes.findLastIndex(({ shape }) => fits(shape, object));
  const found = shapes[at];
  if (found !== undefined) {
    if (at < shapes.length - 1) appendAll(shapes, shapes.splice(at, 1));
    return found.fields;
  }
  const shape = shapeOf(schema, object, { parts: 0 });
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
    if (name !== shape[index * 2] || !partFits(shape[index * 2 + 1]!, object[name])) return false;
  }
  return true;
}

function partFits(part: Part, value: unknown): boolean {
  if (typeof part === 'string') return part === markOf(value);
  if (part instanceof ListShape) return Array.isArray(value) && itemsFit(part, value);
  return isObject(value) && fits(part, value);
}

function itemsFit({ list, items }: ListShape, values: readonly unknown[]): boolean {
  if (items.length !== values.length) return false;
  for (let index = 0; index < values.length; index++) {
    const [identity, shape] = items[index]!;
    const value = values[index];
    if (list.listType === 'set') {
      if (value !== identity[0]) return false;
    } else if (!isObject(value) || !keysFit(list, identity, value) || !partFits(shape, value)) return false;
  }
  return true;
}

function keysFit({ keys }: ListSchema, identity: readonly unknown[], item: JsonObject): boolean {
  for (let index = 0; index < keys.length; index++) if (item[keys[index]!] !== identity[index]) return false;
  return true;
}

/** Undefined for an object that is too large, or has items without a plain identity. */
function shapeOf(type: ObjectShape, object: JsonObject, count: { parts: number }): Shape | undefined {
  const shape: (string | Part)[] = [];
  for (const name of Object.keys(object)) {
    const part = partOf(childType(type, name), object[name], count);
    if (part === undefined || ++count.parts > LARGEST_SHAPE) return undefined;
    shape.push(name, part);
  }
  return shape;
}

function partOf(type: TypeSchema, value: unknown, count: { parts: number }): Part | undefined {
  const list = granularList(type);
  if (list !== undefined && Array.isArray(value) && value.length > 0) return listShapeOf(list, value, count);
  if (!isObject(value)) return markOf(value);
  // Those that are owned as a whole are compared with their zero, too.
  return shapeOf(type.kind === 'struct' || type.kind === 'map' ? type : ANYTHING, value, count);
}

function listShapeOf(list: ListSchema, values: readonly unknown[], count: { parts: number }): ListShape | undefined {
  const items: (readonly [readonly unknown[], Part])[] = [];
  for (const value of values) {
    if (++count.parts > LARGEST_SHAPE) return undefined;
    const identity =
      list.listType === 'set' ? [value] : isObject(value) ? list.keys.map((key) => value[key]) : undefined;
    const shape = list.listType === 'set' ? '' : partOf(list.items, value, count);
    if (identity === undefined || shape === undefined || identity.some((one) => one instanceof Object))
      return undefined;
    items.push([identity, shape]);
  }
  return new ListShape(list, items);
}

/** Which zero a value that is no object is, if any. */
function markOf(value: unknown): string {
  switch (value) {
    case undefined:
      return 'absent';
    case null:
      return 'null';
    case '':
      return 'text';
    case '0':
      return 'quantity';
    case 0:
      return 'number';
    case false:
      return 'boolean';
    default:
      if (Array.isArray(value)) return value.length === 0 ? 'list' : 'items';
      return typeof value === 'object' ? 'object' : 'value';
  }
}
