// Prunes custom resources from clients: unknown fields are dropped, and nulls where neither null nor a default is allowed
// (upstream's PruneNonNullableNullsWithoutDefaults; nulls in lists stay). Absent fields with a default are filled in. Types are
// not checked here: validation against the CRD's JSON schema reports mismatches. Upstream:
// apiextensions-apiserver/pkg/apiserver/schema/pruning and defaulting.

import type { FieldSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { formatPath, MAX_STRICT_ERRORS } from './json-parser.ts';
import { requestEntityTooLarge } from '../status-error.ts';
import { MAX_PARTS } from './parts.ts';
import { isObject, setOwn, type JsonObject } from './own-property.ts';

/** A pruned object, and a text for each of the first hundred dropped fields, sorted: `unknown field "spec.foo"`. */
export interface Pruned {
  readonly object: JsonObject;
  readonly unknown: string[];
}

interface Context {
  readonly path: (string | number)[];
  readonly unknown: string[];
}

/** The object without unknown fields and disallowed nulls. Unchanged parts are shared with the input, which is not changed. */
export function pruneUnknown(schema: StructSchema, object: JsonObject): Pruned {
  const context: Context = { path: [], unknown: [] };
  return { object: prune(schema, object, context) as JsonObject, unknown: context.unknown.sort() };
}

/** A text for each of the first hundred fields of a value, whatever its type, that its schema does not know. */
export function unknownFields(schema: TypeSchema, value: unknown): string[] {
  const context: Context = { path: [], unknown: [] };
  prune(schema, value, context);
  return context.unknown.sort();
}

function prune(type: TypeSchema, value: unknown, context: Context): unknown {
  if (type.kind === 'list' && Array.isArray(value)) {
    let changed = false;
    const out = value.map((item: unknown, i) => {
      const kept = descend(type.items, item, { context, step: i });
      changed ||= kept !== item;
      return kept;
    });
    return changed ? out : value;
  }
  if (typeof value !== 'object' || value === null || type.kind === 'any') return value;
  if (type.kind !== 'map' && type.preserveUnknown === true && (type.kind !== 'struct' || !isObject(value)))
    return value;
  if (!isObject(value) || type.kind === 'list' || type.kind === 'scalar') return withoutFields(value, context);
  if (type.kind === 'map')
    return rebuild(value, (key, item) =>
      item === null && type.dropsNulls === true ? undefined : descend(type.values, item, { context, step: key }),
    );
  return rebuild(value, (key, item) => {
    const field = type.fields.get(key);
    if (field !== undefined)
      return item === null && !allowsNull(field) ? undefined : descend(field.type, item, { context, step: key });
    return type.preserveUnknown ? item : reportUnknown(key, context);
  });
}

/** Drops all fields of an object that stands where the schema has a list or a scalar, and of objects in a misplaced list. */
function withoutFields(value: object, context: Context): unknown {
  if (isObject(value)) return rebuild(value, (key) => reportUnknown(key, context));
  return (value as unknown[]).map((item, index) => {
    if (typeof item !== 'object' || item === null) return item;
    context.path.push(index);
    const kept = withoutFields(item, context);
    context.path.pop();
    return kept;
  });
}

function reportUnknown(key: string, { path, unknown }: Context): undefined {
  if (unknown.length < MAX_STRICT_ERRORS) unknown.push(`unknown field "${formatPath([...path, key])}"`);
}

/** A null whose field has a default is kept until defaults are filled in. */
function allowsNull(field: FieldSchema): boolean {
  return field.nullable || (field.default !== undefined && field.default !== null);
}

function descend(type: TypeSchema, value: unknown, at: { context: Context; step: string | number }): unknown {
  at.context.path.push(at.step);
  const kept = prune(type, value, at.context);
  at.context.path.pop();
  return kept;
}

/** The object with each value replaced by the result of `visit`; undefined drops it. The same object when nothing changed. */
function rebuild(value: JsonObject, visit: (key: string, item: unknown) => unknown): JsonObject {
  let changed = false;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) {
    const kept = visit(key, value[key]);
    changed ||= kept !== value[key] || kept === undefined;
    if (kept !== undefined) setOwn(out, key, kept);
  }
  return changed ? out : value;
}

/** Limits how much the defaults of a schema add: nested defaults can turn a small object into a huge one. */
export class DefaultsBudget {
  #left = MAX_PARTS;
  readonly #refuses: boolean;

  /**
   * `refuses`: an object that would exceed the limit is refused (413). Otherwise its remaining defaults stay absent, as when
   * stored objects are read.
   */
  constructor(refuses: boolean) {
    this.#refuses = refuses;
  }

  /** Whether the limit permits this field's default. Throws 413. */
  allows(field: FieldSchema): boolean {
    this.#left -= partsOfDefault(field);
    if (this.#left < 0 && this.#refuses)
      throw requestEntityTooLarge(`limit is ${MAX_PARTS} fields, entries and items in the defaults of one object`);
    return this.#left >= 0;
  }
}

const partsOfDefaults = new WeakMap<FieldSchema, number>();

function partsOfDefault(field: FieldSchema): number {
  if (typeof field.default !== 'object') return 1;
  let parts = partsOfDefaults.get(field);
  if (parts === undefined) partsOfDefaults.set(field, (parts = partsIn(field.default)));
  return parts;
}

function partsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner) => sum + partsIn(inner), 1);
}

/** Fills in the schema's defaults for absent fields, and for null fields that are not nullable. Throws 413. */
export function applySchemaDefaults(type: TypeSchema, value: unknown, budget = new DefaultsBudget(true)): unknown {
  if (type.kind === 'list' && Array.isArray(value)) {
    const out = value.map((item: unknown) => applySchemaDefaults(type.items, item, budget));
    return out.some((item, i) => item !== value[i]) ? out : value;
  }
  if (!isObject(value)) return value;
  if (type.kind === 'map') return rebuild(value, (_, item) => applySchemaDefaults(type.values, item, budget));
  return type.kind === 'struct' ? defaultFields(type, value, budget) : value;
}

function defaultFields(type: StructSchema, value: JsonObject, budget: DefaultsBudget): JsonObject {
  const filled = rebuild(value, (key, item) => {
    const field = type.fields.get(key);
    if (field === undefined) return item;
    return item === null && wantsDefault(field) ? undefined : applySchemaDefaults(field.type, item, budget);
  });
  let out = filled;
  for (const field of type.fields.values()) {
    if (field.default === undefined || Object.hasOwn(filled, field.name)) continue;
    if (!budget.allows(field)) break;
    if (out === filled) out = { ...filled };
    const defaultValue = typeof field.default === 'object' ? structuredClone(field.default) : field.default;
    setOwn(out, field.name, applySchemaDefaults(field.type, defaultValue, budget));
  }
  return out;
}

function wantsDefault(field: FieldSchema): boolean {
  return field.default !== undefined && !field.nullable;
}
