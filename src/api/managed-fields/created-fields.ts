/**
 * The fields that a creator owns, cached by the object's shape: thousands of events and pods differ only in their texts. The
 * owned fields follow from the schema, the names of the fields, which values are zero, and the keys of list items. Upstream has
 * no counterpart.
 */
import { appendAll } from '../../base/lists.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import type { FieldSet } from './field-set.ts';
import { ANYTHING, childType, granularList, type ObjectShape } from './field-shape.ts';

/** The number of shapes cached for each schema. The most recently used is the last. */
const KNOWN_SHAPES = 32;
/** Objects with more fields and items are not cached. */
const LARGEST_SHAPE = 500;

/** An object: the names of its fields, each followed by the shape of its value. */
type Shape = readonly (string | ValueShape)[];

/** A mark from `markOf`, the shape of an object, or a list's items. */
type ValueShape = string | Shape | ListShape;

/** The items of a list whose items have separate owners. */
class ListShape {
  readonly list: ListSchema;
  /** For each item its identity and its shape. The identity is the value in a set, and in other lists the values of the keys. */
  readonly items: readonly (readonly [identity: readonly unknown[], shape: ValueShape])[];

  constructor(list: ListSchema, items: ListShape['items']) {
    this.list = list;
    this.items = items;
  }
}

interface KnownShape {
  readonly shape: Shape;
  readonly fields: FieldSet;
}

const cache = new WeakMap<StructSchema, KnownShape[]>();

/**
 * The result of `compute` for the object, which must depend on its shape alone. The object is decoded and has no managed fields;
 * fields may be undefined.
 */
export function createdFields(schema: StructSchema, object: JsonObject, compute: () => FieldSet): FieldSet {
  let shapes = cache.get(schema);
  if (shapes === undefined) cache.set(schema, (shapes = []));
  const at = shapes.findLastIndex(({ shape }) => matchesShape(shape, object));
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

function matchesShape(shape: Shape, object: JsonObject): boolean {
  const names = Object.keys(object);
  if (names.length * 2 !== shape.length) return false;
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!;
    if (name !== shape[index * 2] || !partFits(shape[index * 2 + 1]!, object[name])) return false;
  }
  return true;
}

function partFits(part: ValueShape, value: unknown): boolean {
  if (typeof part === 'string') return part === markOf(value);
  if (part instanceof ListShape) return Array.isArray(value) && itemsFit(part, value);
  return isObject(value) && matchesShape(part, value);
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

/** Undefined for an object that is too large, or that has items without a scalar identity. */
function shapeOf(type: ObjectShape, object: JsonObject, count: { parts: number }): Shape | undefined {
  const shape: (string | ValueShape)[] = [];
  for (const name of Object.keys(object)) {
    const part = partOf(childType(type, name), object[name], count);
    if (part === undefined || ++count.parts > LARGEST_SHAPE) return undefined;
    shape.push(name, part);
  }
  return shape;
}

function partOf(type: TypeSchema, value: unknown, count: { parts: number }): ValueShape | undefined {
  const list = granularList(type);
  if (list !== undefined && Array.isArray(value) && value.length > 0) return listShapeOf(list, value, count);
  if (!isObject(value)) return markOf(value);
  // Atomic values are compared with their zero value, too.
  return shapeOf(type.kind === 'struct' || type.kind === 'map' ? type : ANYTHING, value, count);
}

function listShapeOf(list: ListSchema, values: readonly unknown[], count: { parts: number }): ListShape | undefined {
  const items: (readonly [readonly unknown[], ValueShape])[] = [];
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

/** A mark that states which zero value a scalar is, if any. */
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
