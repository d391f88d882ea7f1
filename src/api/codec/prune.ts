// Custom resources as they come from the wire: unknown fields go, and nulls where neither null nor a default is allowed
// (upstream's PruneNonNullableNullsWithoutDefaults; nulls in lists stay). Absent fields with a default are filled in. Types are
// not checked here; validation against the CRD's JSON schema is, and reports what does not fit.
// Upstream: apiextensions-apiserver/pkg/apiserver/schema/pruning and defaulting.

import type { FieldSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { formatPath, MAX_STRICT_ERRORS } from './json-parser.ts';
import { requestEntityTooLarge } from '../status-error.ts';
import { MAX_PARTS } from './parts.ts';
import { isObject, setOwn, type JsonObject } from './own-property.ts';

/** A pruned object and a text for each of the first hundred fields that were dropped: `unknown field "spec.foo"`. */
export interface Pruned {
  readonly object: JsonObject;
  readonly unknown: string[];
}

interface Context {
  readonly path: (string | number)[];
  readonly unknown: string[];
}

/** The object without fields the schema does not know and without such nulls. Shares what it does not change; the input stays as it is. */
export function pruneUnknown(schema: StructSchema, object: JsonObject): Pruned {
  const context: Context = { path: [], unknown: [] };
  return { object: prune(schema, object, context) as JsonObject, unknown: context.unknown };
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
  if (!isObject(value)) return value;
  if (type.kind === 'map')
    return rebuild(value, (key, item) =>
      item === null && type.dropsNulls === true ? undefined : descend(type.values, item, { context, step: key }),
    );
  if (type.kind !== 'struct') return value;
  return rebuild(value, (key, item) => {
    const field = type.fields.get(key);
    if (field !== undefined)
      return item === null && !allowsNull(field) ? undefined : descend(field.type, item, { context, step: key });
    if (type.preserveUnknown) return item;
    if (context.unknown.length < MAX_STRICT_ERRORS)
      context.unknown.push(`unknown field "${formatPath([...context.path, key])}"`);
    return undefined;
  });
}

/** A null with a default stays until defaults are filled in. */
function allowsNull(field: FieldSchema): boolean {
  return field.nullable || (field.default !== undefined && field.default !== null);
}

function descend(type: TypeSchema, value: unknown, at: { context: Context; step: string | number }): unknown {
  at.context.path.push(at.step);
  const kept = prune(type, value, at.context);
  at.context.path.pop();
  return kept;
}

/** The object with each value replaced by what `visit` gives; undefined drops it. The same object when none changed. */
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

/** Schemas may give a small object so many defaults that it becomes a huge one: there is an end to that. */
export class DefaultsBudget {
  #left = MAX_PARTS;
  readonly #refuses: boolean;

  /** `refuses`: what has more is not taken (413). Else the rest stays absent, as where stored objects are read. */
  constructor(refuses: boolean) {
    this.#refuses = refuses;
  }

  /** Whether there is room for this field's default. Throws 413. */
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

/** The value with the schema's defaults for absent fields, and for null ones that may not be null. Throws 413. */
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
