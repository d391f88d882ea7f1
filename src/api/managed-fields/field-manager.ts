// Server-side apply and the tracking of updates: who owns which field, what an apply removes, when it conflicts.
// Upstream: structured-merge-diff/merge/update.go under apimachinery/pkg/util/managedfields. All functions are pure.
//
// Managers of other API versions of the kind are compared by the same paths: callers that store one version and convert
// hand in objects and managed fields of one version.

import { getOwn, isObject, setOwn, type JsonObject } from '../codec/own-property.ts';
import { canonicalize } from '../codec/canonical.ts';
import { zeroStruct } from '../codec/typed.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { equal } from '../patch/json-patch.ts';
import { createdFields } from './created-fields.ts';
import { describeConflicts, type ConflictReport, type ManagerConflict } from './conflicts.ts';
import { compare, exclude, isUnchanged, unchanged, type Comparison } from './field-compare.ts';
import { fieldSetOf, withNamedFields } from './field-extract.ts';
import { mergeApplied, removePaths } from './field-merge.ts';
import { difference, intersection, recursiveDifference, sameSet, union, type FieldSet } from './field-set.ts';
import { badRequest } from '../status-error.ts';
import { ListKeyError } from './path-element.ts';
import { lastAppliedFields, withLastApplied } from './last-applied.ts';
import { identityOf, readManagers, withoutMetadata, writeManagers, type Manager, type Managers } from './managers.ts';

/** What both operations need to know. */
export interface FieldManagerRequest {
  readonly schema: StructSchema;
  /** The field manager's name. */
  readonly manager: string;
  /** Version the request speaks: `apps/v1`. */
  readonly apiVersion: string;
  /** Sub-resource the request goes to; empty or absent for the object itself. */
  readonly subresource?: string;
  /** Now, RFC 3339 in whole seconds. */
  readonly time: string;
  /** Fields this endpoint ignores (`status` on the object itself, everything else on its status): nobody gains them here. */
  readonly resetFields?: FieldSet;
}

/** An apply. */
export interface ApplyRequest extends FieldManagerRequest {
  /** Take fields from their owners instead of failing. */
  readonly force: boolean;
}

/** Result of {@link apply}: the object with its managed fields, or why not. */
export type ApplyResult =
  | { readonly kind: 'applied'; readonly object: JsonObject; readonly managedFields: ManagedFieldsEntry[] }
  | ({ readonly kind: 'conflict' } & ConflictReport);

/** Whose applies take over from client-side apply, and keep its annotation in step. */
const kubectl = 'kubectl';
const beforeFirstApply = 'before-first-apply';

/**
 * Applies a configuration (decoded sparsely, with the schema's list keys in place) to the live object, or creates it when
 * there is none. Throws a StatusError (400) for a configuration that brings managed fields or lists without their keys.
 * The result is canonical but not defaulted.
 */
export function apply(live: JsonObject | undefined, applied: JsonObject, request: ApplyRequest): ApplyResult {
  const { schema, resetFields } = request;
  const base = stripManaged(live ?? emptyObject(schema, applied));
  const managers = managersForApply(live, base, request);
  const me = managerOf(request, 'Apply');
  const id = identityOf(me);
  const last = managers.get(id);
  if (entriesOf(applied).length > 0) throw badRequest('metadata.managedFields must be nil');
  const named = recursiveDifference(appliedFields(schema, applied), resetFields);
  const owners: Managers = new Map(managers).set(id, { ...me, fields: named });
  const merged = mergeApplied(schema, base, stripManaged(applied)) as JsonObject;
  const pruned = prune(merged, { schema, last: last?.fields, owners });
  const comparison = exclude(compare(schema, base, pruned), resetFields);
  const conflicts = request.force ? [] : notAllowed(conflictsOf(owners, comparison, id), base, request);
  if (conflicts.length > 0) return { kind: 'conflict', ...describeConflicts(conflicts) };
  const after = release(owners, comparison, id).set(id, { ...me, fields: withoutMetadata(named) });
  const canonical = canonicalize(schema, pruned);
  const object = request.manager === kubectl ? withLastApplied(canonical, applied) : canonical;
  if (live !== undefined && sameManagers(managers, after) && equal(object, base)) {
    return { kind: 'applied', object: live, managedFields: entriesOf(live) };
  }
  const managedFields = writeManagers(after);
  return { kind: 'applied', object: withManaged(object, managedFields), managedFields };
}

/** The fields a configuration names. */
function appliedFields(schema: StructSchema, applied: JsonObject): FieldSet {
  try {
    return fieldSetOf(schema, stripManaged(applied));
  } catch (error) {
    if (!(error instanceof ListKeyError)) throw error;
    const metadata = getOwn(applied, 'metadata');
    const { namespace = '', name = '' } = (isObject(metadata) ? metadata : {}) as { namespace?: string; name?: string };
    const object = `${namespace}/${name}; ${String(applied['apiVersion'])}, Kind=${String(applied['kind'])}`;
    throw badRequest(`failed to create typed patch object (${object}): ${error.path}: ${error.message}`);
  }
}

/**
 * The new object of an update, patch or create with its managed fields brought up to date. Managed fields the client sent
 * are taken as the starting point; a single empty entry resets them. An object with lists that lack their keys cannot be
 * compared: its managed fields stay as they were, as upstream leaves them.
 */
export function trackUpdate(live: JsonObject | undefined, next: JsonObject, request: FieldManagerRequest): JsonObject {
  const { schema, resetFields } = request;
  const sent = entriesOf(next);
  const reset = sent.length === 1 && Object.keys(sent[0] as object).length === 0;
  const fromClient = reset || sent.length === 0 ? undefined : readManagers(sent);
  const known = live === undefined ? [] : entriesOf(live);
  const managers = reset
    ? new Map<string, Manager>()
    : (fromClient ?? readManagers(known) ?? new Map<string, Manager>());
  const untracked = live !== undefined && managers.size === 0;
  if (untracked) return withManaged(next, []);
  if (live === undefined && managers.size === 0 && resetFields === undefined) return trackCreation(next, request);
  const before = live ?? emptyObject(schema, next);
  const comparison = exclude(compareLeniently(schema, before, next), resetFields);
  if (isUnchanged(comparison) && live !== undefined)
    return withManaged(next, fromClient === undefined ? known : writeManagers(managers));
  return withManaged(next, writeManagers(own(managers, comparison, managerOf(request, 'Update'))));
}

function trackCreation(next: JsonObject, request: FieldManagerRequest): JsonObject {
  const { schema } = request;
  const object = stripManaged(next);
  const fields = createdFields(schema, object, () => {
    const { changed } = compareLeniently(schema, emptyObject(schema, object), object);
    return withoutMetadata(changed);
  });
  const me = { ...managerOf(request, 'Update'), fields };
  return withManaged(next, writeManagers(new Map(fields === undefined ? [] : [[identityOf(me), me]])));
}

/** Gives the updater what it added and changed, and takes that from the others, and what is gone from everyone. */
function own(managers: Managers, comparison: Comparison, me: Manager): Managers {
  const id = identityOf(me);
  const after = release(managers, comparison, id);
  const before = after.get(id);
  const kept = difference(before?.fields, comparison.removed);
  const gained = withoutMetadata(comparison.changed);
  if (gained !== undefined) return after.set(id, { ...me, fields: union(kept, gained) });
  if (before !== undefined) after.set(id, { ...before, fields: kept });
  return after;
}

function managerOf(request: FieldManagerRequest, operation: 'Apply' | 'Update'): Manager {
  const { manager, apiVersion, subresource = '', time } = request;
  return { manager, apiVersion, subresource, time, operation, fields: undefined };
}

/** An object whose fields were never tracked belongs, before its first apply, to a manager that only ever updated it. */
function managersForApply(live: JsonObject | undefined, base: JsonObject, request: ApplyRequest): Managers {
  const managers =
    live === undefined ? new Map<string, Manager>() : (readManagers(entriesOf(live)) ?? new Map<string, Manager>());
  if (live === undefined || managers.size > 0) return managers;
  const everything = compareObjects(request.schema, emptyObject(request.schema, base), base);
  const fields = withoutMetadata(everything.changed);
  if (fields === undefined) return managers;
  const before = { ...managerOf(request, 'Update'), manager: beforeFirstApply, subresource: '', fields };
  return managers.set(identityOf(before), before);
}

function compareLeniently(schema: StructSchema, before: JsonObject, after: JsonObject): Comparison {
  try {
    return compareObjects(schema, before, after);
  } catch (error) {
    if (error instanceof ListKeyError) return unchanged;
    throw error;
  }
}

function compareObjects(schema: StructSchema, before: JsonObject, after: JsonObject): Comparison {
  if (entriesOf(before).length === 0 && entriesOf(after).length === 0) return compare(schema, before, after);
  return compare(schema, stripManaged(before), stripManaged(after));
}

/** What the others own of what would be added or changed. */
function conflictsOf(managers: Managers, { changed }: Comparison, me: string): ManagerConflict[] {
  const out: ManagerConflict[] = [];
  for (const [id, manager] of managers) {
    const fields = id === me ? undefined : intersection(manager.fields, changed);
    if (fields !== undefined) out.push({ manager, fields });
  }
  return out;
}

/** Takes changed and removed fields from all managers but `me`. */
function release(managers: Managers, { changed, removed }: Comparison, me: string): Managers {
  const gone = union(removed, changed);
  const out: Managers = new Map();
  for (const [id, manager] of managers) {
    const fields = id === me ? manager.fields : difference(manager.fields, gone);
    if (fields !== undefined) out.set(id, fields === manager.fields ? manager : { ...manager, fields });
  }
  return out;
}

interface Pruning {
  schema: StructSchema;
  last: FieldSet;
  owners: Managers;
}

/** Removes what this applier owned, applies no longer, and nobody else owns. */
function prune(merged: JsonObject, { schema, last, owners }: Pruning): JsonObject {
  let owned: FieldSet;
  for (const { fields } of owners.values()) owned = union(owned, fields);
  if (difference(last, owned) === undefined) return merged;
  const named = (set: FieldSet): FieldSet => withNamedFields(schema, set);
  const setOf = (object: unknown): FieldSet => named(fieldSetOf(schema, object, { lenient: true }));
  const remove = (set: FieldSet): JsonObject => (removePaths(schema, merged, set) ?? {}) as JsonObject;
  const mergedSet = setOf(merged);
  const lastSet = named(last);
  const bare = removePaths(schema, merged, lastSet) ?? {};
  const withOwned = remove(difference(mergedSet, union(setOf(bare), named(owned))));
  return remove(intersection(difference(mergedSet, setOf(withOwned)), lastSet));
}

/** The conflicts left when kubectl takes over what its own client-side apply set, as the annotation records it. */
function notAllowed(conflicts: ManagerConflict[], live: JsonObject, request: ApplyRequest): ManagerConflict[] {
  if (request.manager !== kubectl || conflicts.length === 0) return conflicts;
  const allowed = lastAppliedFields(live, request.schema);
  return conflicts
    .map(({ manager, fields }) => ({ manager, fields: difference(fields, allowed) }))
    .filter(({ fields }) => fields !== undefined);
}

/** Whether two tables say the same but for the times. */
function sameManagers(a: Managers, b: Managers): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([id, m]) => {
    const other = b.get(id);
    return other !== undefined && other.apiVersion === m.apiVersion && sameSet(other.fields, m.fields);
  });
}

function emptyObject(schema: StructSchema, like: JsonObject): JsonObject {
  return { apiVersion: like['apiVersion'], kind: like['kind'], ...zeroStruct(schema) };
}

function entriesOf(object: JsonObject): ManagedFieldsEntry[] {
  const metadata = getOwn(object, 'metadata');
  const entries = isObject(metadata) ? getOwn(metadata, 'managedFields') : undefined;
  return Array.isArray(entries) ? (entries as ManagedFieldsEntry[]) : [];
}

/** The object without managed fields; the same object when it has none. */
export function stripManaged(object: JsonObject): JsonObject {
  const metadata = getOwn(object, 'metadata');
  if (!isObject(metadata) || !Object.hasOwn(metadata, 'managedFields')) return object;
  const rest: JsonObject = {};
  // Copied field by field: an object that a field was deleted from is slow for whoever comes after.
  for (const key of Object.keys(metadata)) if (key !== 'managedFields') setOwn(rest, key, metadata[key]);
  return { ...object, metadata: rest };
}

function withManaged(object: JsonObject, entries: readonly ManagedFieldsEntry[]): JsonObject {
  if (entries.length === 0) return stripManaged(object);
  const metadata = getOwn(object, 'metadata');
  return { ...object, metadata: { ...(isObject(metadata) ? metadata : {}), managedFields: entries } };
}
