// Decodes a JSON value as a type: checks types, prunes unknown fields, and (in the `go` shape) does what a round trip through
// upstream's Go types does: empty values are dropped, zeros behind pointers kept, and certain structs always present.
// Upstream: decoding into Go structs with sigs.k8s.io/json in strict mode. Differs on purpose: absent required lists become []
// where Go writes null, absent required pointers and zero times stay absent, so that types hold at run time; written-form.ts adds
// the nulls when JSON is written.

import { quote } from '../../base/go-quote.ts';
import type { AnySchema, FieldSchema, ListSchema, MapSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { typeSchema } from '../schema/schema.ts';
import { formatPath, MAX_STRICT_ERRORS } from './json-parser.ts';
import { isObject, type JsonObject, setOwn } from './own-property.ts';
import { pruneUnknown } from './prune.ts';
import { decodeScalar, jsonKind } from './scalars.ts';
import { appendAll } from '../../base/lists.ts';
import { fillAlways, isEmpty, zeroElement } from './zero-values.ts';
import { goPath, goStruct, goType } from './go-types.ts';

/** How unknown and duplicate fields are treated: refused, reported as warnings, or dropped silently. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** Options of {@link decodeTyped}. */
export interface DecodeOptions {
  /** Default `Ignore`. */
  mode?: FieldValidation;
  /** The parser's texts about duplicate keys. */
  duplicates?: readonly string[];
  /**
   * `go` (default) is the canonical shape of a stored object. `sparse` only checks and prunes; absent and zero values, and
   * the texts of quantities, times and bytes, stay as they are: the shape of an apply configuration.
   */
  shape?: 'go' | 'sparse';
  /** An object of this type in canonical shape. Parts that the value shares with it at the same place are not copied. */
  known?: JsonObject;
}

/** A decoded object and, in Warn mode, a warning per unknown or duplicate field. */
export interface Decoded {
  object: JsonObject;
  warnings: string[];
}

/** The error of a value that does not fit its type, or (Strict) of unknown and duplicate fields. The message is upstream's. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

interface Context {
  readonly root: StructSchema;
  readonly path: (string | number)[];
  readonly strict: string[] | undefined;
  readonly sparse: boolean;
  /** The innermost enclosing struct, for type errors. */
  owner: StructSchema;
  /** The known object's value at the place being decoded. */
  known: unknown;
}

/**
 * Decodes a parsed JSON value as `schema`. The input is not changed; unchanged leaves are shared with it. Throws {@link
 * DecodeError}.
 */
export function decodeTyped(schema: StructSchema, value: unknown, options: DecodeOptions = {}): Decoded {
  const { mode = 'Ignore', duplicates = [], shape = 'go', known } = options;
  const strict = mode === 'Ignore' ? undefined : [...duplicates];
  const context: Context = {
    root: schema,
    path: [],
    strict,
    sparse: shape === 'sparse',
    owner: schema,
    known: schema.custom === true ? undefined : known,
  };
  const object = schema.custom === true ? decodeCustom(schema, value, context) : decodeStruct(schema, value, context);
  if (mode === 'Strict' && strict !== undefined && strict.length > 0) {
    throw new DecodeError(`strict decoding error: ${strict.join(', ')}`);
  }
  return { object, warnings: strict ?? [] };
}

function objectMeta(): StructSchema {
  return typeSchema('meta.v1.ObjectMeta') as StructSchema;
}

function mismatch(kind: string, type: TypeSchema, context: Context): never {
  // Upstream decodes the metadata of custom resources by itself.
  const [root, path] =
    context.root.custom === true ? [objectMeta(), context.path.slice(1)] : [context.root, context.path];
  const steps = goPath(root, path);
  const target = steps.length === 0 ? 'Go value' : `Go struct field ${goStruct(context.owner.name)}.${steps.join('.')}`;
  throw new DecodeError(`json: cannot unmarshal ${kind} into ${target} of type ${goType(type)}`);
}

function decodeValue(type: TypeSchema, value: unknown, context: Context): unknown {
  if (value === context.known && typeof value === 'object') return value;
  switch (type.kind) {
    case 'scalar': {
      if (typeof value === 'string' && type.scalar === 'string') return value;
      const decoded = decodeScalar(type.scalar, value, (fault) => {
        if ('text' in fault) throw new DecodeError(fault.text);
        mismatch(fault.mismatch, fault.type === undefined ? type : { kind: 'scalar', scalar: fault.type }, context);
      });
      return context.sparse ? value : decoded;
    }
    case 'struct':
      return decodeStruct(type, value, context);
    case 'list':
      return decodeList(type, value, context);
    case 'map':
      return decodeMap(type, value, context);
    case 'any':
      return decodeAny(type, value, context);
  }
}

function decodeStruct(schema: StructSchema, value: unknown, context: Context): JsonObject {
  if (!isObject(value)) mismatch(jsonKind(value), schema, context);
  const { owner: outer, known } = context;
  context.owner = schema;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) {
    const field = schema.fields.get(key);
    if (field === undefined) {
      if (schema.preserveUnknown) setOwn(out, key, value[key]);
      else unknownField(key, context);
      continue;
    }
    const item = value[key];
    if (item === undefined) continue;
    // Most fields are texts, which cannot fail and need no path for errors.
    if (typeof item === 'string' && field.type.kind === 'scalar' && field.type.scalar === 'string') {
      if (item !== '' || context.sparse || !field.omitempty || field.pointer) setOwn(out, field.name, item);
      continue;
    }
    context.path.push(key);
    context.known = isObject(known) && Object.hasOwn(known, key) ? known[key] : undefined;
    decodeField(field, item, { out, context });
    context.path.pop();
  }
  if (!context.sparse) fillAlways(schema, out);
  context.owner = outer;
  context.known = known;
  return out;
}

/**
 * Decodes a custom resource: its metadata is typed, unknown fields are dropped, and all other values, zeros and nulls too, are
 * kept for validation.
 */
function decodeCustom(schema: StructSchema, value: unknown, context: Context): JsonObject {
  if (!isObject(value)) mismatch(jsonKind(value), schema, context);
  const { metadata } = value;
  const rest = metadata === undefined ? value : { ...value, metadata: undefined };
  // Apply configurations keep their nulls: such fields get an owner, and the merge deletes them.
  const { object, unknown } = context.sparse ? { object: rest, unknown: [] } : pruneUnknown(schema, rest);
  const out = { ...object };
  context.path.push('metadata');
  context.owner = schema;
  out['metadata'] = metadata === undefined || metadata === null ? {} : decodeStruct(objectMeta(), metadata, context);
  context.path.pop();
  if (context.strict !== undefined)
    appendAll(context.strict, unknown.slice(0, Math.max(0, MAX_STRICT_ERRORS - context.strict.length)));
  return out;
}

function unknownField(key: string, context: Context): void {
  if (context.strict === undefined || context.strict.length >= MAX_STRICT_ERRORS) return;
  context.strict.push(`unknown field ${quote(formatPath([...context.path, key]))}`);
}

function decodeField(field: FieldSchema, item: unknown, { out, context }: { out: JsonObject; context: Context }): void {
  if (item === null) {
    if (context.sparse || field.nullable) setOwn(out, field.name, null);
    return;
  }
  const decoded = decodeValue(field.type, item, context);
  if (decoded === undefined) return;
  if (!context.sparse && field.omitempty && !field.pointer && isEmpty(field.type, decoded)) return;
  setOwn(out, field.name, decoded);
}

function decodeList(type: ListSchema, value: unknown, context: Context): unknown[] {
  if (!Array.isArray(value)) mismatch(jsonKind(value), type, context);
  const { known } = context;
  const isKnown = Array.isArray(known) ? membership(known) : undefined;
  // `map` allocates the exact length; pushing leaves spare capacity in lists that live as long as the object.
  const out = value.map((item, index) => {
    context.known = isKnown !== undefined && typeof item === 'object' && isKnown(item, index) ? item : undefined;
    context.path.push(index);
    const decoded =
      item === null || item === undefined ? nullElement(type.items, context) : decodeValue(type.items, item, context);
    context.path.pop();
    return decoded;
  });
  context.known = known;
  return out;
}

/** Shorter lists are searched item by item. */
const SHORT_LIST = 32;

/** Returns a test whether a list has an item, which tries the given index first. */
function membership(list: readonly unknown[]): (item: unknown, index: number) => boolean {
  let items: Set<unknown> | undefined;
  return (item, index) => {
    if (list[index] === item) return true;
    return list.length <= SHORT_LIST ? list.includes(item) : (items ??= new Set(list)).has(item);
  };
}

function nullElement(type: TypeSchema, context: Context): unknown {
  return context.sparse ? null : zeroElement(type);
}

function decodeMap(type: MapSchema, value: unknown, context: Context): JsonObject {
  if (!isObject(value)) mismatch(jsonKind(value), type, context);
  const out: JsonObject = {};
  const { known } = context;
  context.known = undefined;
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item === undefined) continue;
    context.path.push(key);
    const decoded = item === null ? nullElement(type.values, context) : decodeValue(type.values, item, context);
    if (decoded !== undefined) setOwn(out, key, decoded);
    context.path.pop();
  }
  context.known = known;
  return out;
}

/**
 * Unions in a CRD's JSON schema have decoders of their own upstream, which drop unknown fields without a report. A value that
 * fits no form of the union is an error in `additionalProperties` and ignored elsewhere.
 */
function decodeAny(type: AnySchema, value: unknown, context: Context): unknown {
  if (!type.form.startsWith('schemaOr')) return value;
  const props = typeSchema('apiextensions.v1.JSONSchemaProps') as StructSchema;
  const quiet: Context = { ...context, strict: undefined };
  if (isObject(value)) return decodeStruct(props, value, quiet);
  if (type.form === 'schemaOrBool') {
    if (typeof value !== 'boolean') throw new DecodeError('boolean or JSON schema expected');
    return value;
  }
  if (!Array.isArray(value)) return undefined;
  const items = type.form === 'schemaOrArray' ? props : typeSchema('string');
  return decodeList({ kind: 'list', items, listType: 'atomic', keys: [] }, value, quiet);
}
