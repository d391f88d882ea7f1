// Custom resources as they come from the wire: unknown fields go, absent fields with a default are filled in. Types are
// not checked here; validation against the CRD's JSON schema is, and reports what does not fit.
// Upstream: apiextensions-apiserver/pkg/apiserver/schema/pruning and defaulting.

import type { FieldSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { formatPath } from './json-parser.ts';
import { isObject, setOwn, type JsonObject } from './own-property.ts';

/** A pruned object and one text per field that was dropped: `unknown field "spec.foo"`. */
export interface Pruned {
  readonly object: JsonObject;
  readonly unknown: string[];
}

interface Context {
  readonly path: (string | number)[];
  readonly unknown: string[];
}

/** The object without fields the schema does not know. Shares what it does not change; the input stays as it is. */
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
  if (type.kind === 'map') return rebuild(value, (key, item) => descend(type.values, item, { context, step: key }));
  if (type.kind !== 'struct') return value;
  return rebuild(value, (key, item) => {
    const field = type.fields.get(key);
    if (field !== undefined) return descend(field.type, item, { context, step: key });
    if (type.preserveUnknown) return item;
    context.unknown.push(`unknown field "${formatPath([...context.path, key])}"`);
    return undefined;
  });
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

/** The value with the schema's defaults for absent fields, and for null ones that may not be null. */
export function applySchemaDefaults(type: TypeSchema, value: unknown): unknown {
  if (type.kind === 'list' && Array.isArray(value)) {
    const out = value.map((item: unknown) => applySchemaDefaults(type.items, item));
    return out.some((item, i) => item !== value[i]) ? out : value;
  }
  if (!isObject(value)) return value;
  if (type.kind === 'map') return rebuild(value, (_, item) => applySchemaDefaults(type.values, item));
  return type.kind === 'struct' ? defaultFields(type, value) : value;
}

function defaultFields(type: StructSchema, value: JsonObject): JsonObject {
  const filled = rebuild(value, (key, item) => {
    const field = type.fields.get(key);
    if (field === undefined) return item;
    return item === null && wantsDefault(field) ? undefined : applySchemaDefaults(field.type, item);
  });
  let out = filled;
  for (const field of type.fields.values()) {
    if (field.default === undefined || Object.hasOwn(filled, field.name)) continue;
    if (out === filled) out = { ...filled };
    setOwn(out, field.name, applySchemaDefaults(field.type, structuredClone(field.default)));
  }
  return out;
}

function wantsDefault(field: FieldSchema): boolean {
  return field.default !== undefined && !field.nullable;
}
