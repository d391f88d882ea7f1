/** The managed fields of an object, and the object without them. */
import type { Steps } from '../../base/steps.ts';
import { getOwn, isObject, type JsonObject, setOwn } from '../codec/own-property.ts';
import { zeroStruct } from '../codec/zero-values.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { compare, type Comparison } from './field-compare.ts';
import { difference, type FieldSet, union } from './field-set.ts';
import type { Managers } from './managers.ts';

export function compareObjects(schema: StructSchema, before: JsonObject, after: JsonObject): Comparison {
  if (entriesOf(before).length === 0 && entriesOf(after).length === 0) return compare(schema, before, after);
  return compare(schema, stripManaged(before), stripManaged(after));
}

/** Managers processed in one step; each may have thousands of fields. */
const MANAGERS_AT_ONCE = 4;

/** Removes changed and removed fields from all managers except `me`. `comparisonIn`: the change in a manager's version. */
export function* releaseSteps(
  managers: Managers,
  comparisonIn: (apiVersion: string) => Comparison,
  me: string,
): Steps<Managers> {
  const gone = new Map<Comparison, FieldSet>();
  const goneOf = (comparison: Comparison): FieldSet => {
    if (!gone.has(comparison)) gone.set(comparison, union(comparison.removed, comparison.changed));
    return gone.get(comparison);
  };
  const out: Managers = new Map();
  let visited = 0;
  for (const [id, manager] of managers) {
    if (visited++ % MANAGERS_AT_ONCE === 0) yield;
    const fields = id === me ? manager.fields : difference(manager.fields, goneOf(comparisonIn(manager.apiVersion)));
    if (fields !== undefined) out.set(id, fields === manager.fields ? manager : { ...manager, fields });
  }
  return out;
}

export function emptyObject(schema: StructSchema, like: JsonObject): JsonObject {
  return { apiVersion: like['apiVersion'], kind: like['kind'], ...zeroStruct(schema) };
}

export function entriesOf(object: JsonObject): ManagedFieldsEntry[] {
  const metadata = getOwn(object, 'metadata');
  const entries = isObject(metadata) ? getOwn(metadata, 'managedFields') : undefined;
  return Array.isArray(entries) ? (entries as ManagedFieldsEntry[]) : [];
}

/** The object without managed fields; the same object when it has none. */
export function stripManaged(object: JsonObject): JsonObject {
  const metadata = getOwn(object, 'metadata');
  if (!isObject(metadata) || !Object.hasOwn(metadata, 'managedFields')) return object;
  const rest: JsonObject = {};
  // Copied field by field: V8 makes objects slow after `delete`.
  for (const key of Object.keys(metadata)) if (key !== 'managedFields') setOwn(rest, key, metadata[key]);
  return { ...object, metadata: rest };
}

/** The object with these managed fields in place of its own. */
export function withManaged(object: JsonObject, entries: readonly ManagedFieldsEntry[]): JsonObject {
  if (entries.length === 0) return stripManaged(object);
  const metadata = getOwn(object, 'metadata');
  return { ...object, metadata: { ...(isObject(metadata) ? metadata : {}), managedFields: entries } };
}

/** Decoding drops an empty list of managed fields; one empty entry replaces it, which resets them. */
export function keepReset(sent: unknown, decoded: JsonObject): void {
  const metadata = isObject(sent) ? getOwn(sent, 'metadata') : undefined;
  const entries = isObject(metadata) ? getOwn(metadata, 'managedFields') : undefined;
  if (Array.isArray(entries) && entries.length === 0)
    decoded['metadata'] = { ...(decoded['metadata'] as JsonObject), managedFields: [{}] };
}
