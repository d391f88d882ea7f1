// Server-side apply and the tracking of updates: who owns which field, what an apply removes, when it conflicts.
// Upstream: structured-merge-diff/merge/update.go under apimachinery/pkg/util/managedfields. All functions are pure.
//
// Managers of other API versions of the kind are compared by the same paths: callers that store one version and convert
// hand in objects and managed fields of one version.

import { allSteps, type Steps } from '../../base/steps.ts';
import { getOwn, isObject, type JsonObject, setOwn } from '../codec/own-property.ts';
import { canonicalize } from '../codec/canonical.ts';
import { zeroStruct } from '../codec/zero-values.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { equal } from '../patch/json-patch.ts';
import { createdFields } from './created-fields.ts';
import { type ConflictReport, describeConflicts, type ManagerConflict } from './conflicts.ts';
import { compare, type Comparison, exclude, isUnchanged, unchanged } from './field-compare.ts';
import { fieldSetOf, withNamedFields } from './field-extract.ts';
import { mergeApplied, removePaths } from './field-merge.ts';
import {
  difference,
  type FieldSet,
  intersection,
  leaf,
  recursiveDifference,
  sameSet,
  union,
  unionAll,
} from './field-set.ts';
import { badRequest } from '../status-error.ts';
import { ListKeyError } from './path-element.ts';
import { lastAppliedFields, withLastApplied } from './last-applied.ts';
import {
  entryOf,
  identityOf,
  type Manager,
  type Managers,
  readManagers,
  withoutMetadata,
  writeManagers,
} from './managers.ts';

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

export interface ApplyRequest extends FieldManagerRequest {
  /** Take fields from their owners instead of failing. */
  readonly force: boolean;
}

/** Result of {@link apply}: the object with its managed fields, or why not. */
export type ApplyResult =
  | { readonly kind: 'applied'; readonly object: JsonObject; readonly managedFields: ManagedFieldsEntry[] }
  | ({ readonly kind: 'conflict' } & ConflictReport);

/** Whose applies take over from client-side apply, and keep its annotation in step. */
const KUBECTL = 'kubectl';
const BEFORE_FIRST_APPLY = 'before-first-apply';

/** {@link applySteps} without a pause. */
export function apply(live: JsonObject | undefined, applied: JsonObject, request: ApplyRequest): ApplyResult {
  return allSteps(applySteps(live, applied, request));
}

/**
 * Applies a configuration (decoded sparsely, with the schema's list keys in place) to the live object, or creates it when
 * there is none. Throws a StatusError (400) for a configuration that brings managed fields or lists without their keys.
 * The result is canonical but not defaulted. Each step goes through the objects about once.
 */
export function* applySteps(
  live: JsonObject | undefined,
  applied: JsonObject,
  request: ApplyRequest,
): Steps<ApplyResult> {
  const { schema, resetFields } = request;
  const base = stripManaged(live ?? emptyObject(schema, applied));
  const managers = managersForApply(live, base, request);
  const me = managerOf(request, 'Apply');
  const id = identityOf(me);
  const last = managers.get(id);
  if (entriesOf(applied).length > 0) throw badRequest('metadata.managedFields must be nil');
  yield;
  const named = recursiveDifference(appliedFields(schema, applied), resetFields);
  const owners: Managers = new Map(managers).set(id, { ...me, fields: named });
  yield;
  const merged = mergeApplied(schema, base, stripManaged(applied)) as JsonObject;
  const pruned = yield* pruneSteps(merged, { schema, last: last?.fields, owners });
  yield;
  const comparison = exclude(compare(schema, base, pruned), resetFields);
  yield;
  const conflicts = request.force ? [] : notAllowed(conflictsOf(owners, comparison, id), base, request);
  yield;
  if (conflicts.length > 0) return { kind: 'conflict', ...describeConflicts(conflicts) };
  const after = (yield* releaseSteps(owners, comparison, id)).set(id, { ...me, fields: withoutMetadata(named) });
  yield;
  const canonical = canonicalize(schema, pruned);
  const isSame = live !== undefined && equal(canonical, base);
  const object = request.manager === KUBECTL ? withLastApplied(canonical, applied) : canonical;
  yield;
  if (isSame && sameManagers(managers, after) && (object === canonical || equal(object, base))) {
    return { kind: 'applied', object: live, managedFields: entriesOf(live) };
  }
  // Who changes nothing becomes an owner without a time.
  if (isSame) after.set(id, { ...after.get(id)!, time: last?.time });
  yield;
  const managedFields = writeManagers(after);
  return { kind: 'applied', object: withManaged(object, managedFields), managedFields };
}

/** The fields a configuration names. */
function appliedFields(schema: StructSchema, applied: JsonObject): FieldSet {
  try {
    return fieldSetOf(schema, stripManaged(applied));
  } catch (error) {
    if (!(error instanceof ListKeyError)) throw error;
    throw notTyped(applied, `${error.path}: ${error.message}`);
  }
}

/** A configuration that does not fit its kind's schema. */
export function notTyped(applied: JsonObject, problem: string): Error {
  const metadata = getOwn(applied, 'metadata');
  const { namespace = '', name = '' } = (isObject(metadata) ? metadata : {}) as { namespace?: string; name?: string };
  const apiVersion = String(applied['apiVersion']);
  // As Go writes a kind: a group, empty or not, before the slash.
  const version = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  const object = `${namespace}/${name}; ${version}, Kind=${String(applied['kind'])}`;
  return badRequest(`failed to create typed patch object (${object}): ${problem}`);
}

/** The new object of an update, patch or create with its managed fields brought up to date, without a pause. */
export function trackUpdate(live: JsonObject | undefined, next: JsonObject, request: FieldManagerRequest): JsonObject {
  return withManaged(next, allSteps(updatedEntriesSteps(live, next, request)));
}

/**
 * The managed fields of the new object of an update, patch or create. Managed fields the client sent are taken as the
 * starting point; a single empty entry resets them. An object with lists that lack their keys cannot be compared: its
 * managed fields stay as they were, as upstream leaves them. Each step goes through the objects about once.
 */
export function* updatedEntriesSteps(
  live: JsonObject | undefined,
  next: JsonObject,
  request: FieldManagerRequest,
): Steps<readonly ManagedFieldsEntry[]> {
  const { schema, resetFields } = request;
  const sent = entriesOf(next);
  const reset = sent.length === 1 && Object.keys(sent[0] as object).length === 0;
  const fromClient = reset || sent.length === 0 ? undefined : readManagers(sent);
  const known = live === undefined ? [] : entriesOf(live);
  const managers = reset
    ? new Map<string, Manager>()
    : (fromClient ?? readManagers(known) ?? new Map<string, Manager>());
  const untracked = live !== undefined && managers.size === 0;
  if (untracked) return [];
  if (live === undefined && managers.size === 0 && areTopLevel(resetFields)) return yield* createdSteps(next, request);
  const before = live ?? emptyObject(schema, next);
  yield;
  const comparison = exclude(compareLeniently(schema, before, next), resetFields);
  yield;
  if (isUnchanged(comparison) && live !== undefined) return fromClient === undefined ? known : writeManagers(managers);
  const after = yield* ownSteps(managers, comparison, managerOf(request, 'Update'));
  yield;
  return writeManagers(after);
}

/**
 * The entries of a new object that came without any. `canonicalOf`: gives the canonical shape of a decoded object that may
 * have undefined or zero fields; absent where the object has it. The endpoint ignores no fields, or whole fields of the object.
 */
export function createdEntries(
  next: JsonObject,
  request: FieldManagerRequest,
  canonicalOf: (object: JsonObject) => JsonObject = (object) => object,
): ManagedFieldsEntry[] {
  const { schema, resetFields } = request;
  const object = withoutReset(stripManaged(next), resetFields);
  const fields = createdFields(schema, object, () => {
    const { changed } = compareLeniently(schema, emptyObject(schema, object), canonicalOf(object));
    return withoutMetadata(recursiveDifference(changed, resetFields));
  });
  return fields === undefined ? [] : [entryOf({ ...managerOf(request, 'Update'), fields })];
}

/** The entries of a new canonical object that came without any; its shape is too large to be remembered. */
function* createdSteps(next: JsonObject, request: FieldManagerRequest): Steps<ManagedFieldsEntry[]> {
  const { schema, resetFields } = request;
  const object = withoutReset(stripManaged(next), resetFields);
  const { changed } = compareLeniently(schema, emptyObject(schema, object), object);
  yield;
  const fields = withoutMetadata(recursiveDifference(changed, resetFields));
  yield;
  return fields === undefined ? [] : [entryOf({ ...managerOf(request, 'Update'), fields })];
}

/** Whether nothing but whole fields of the object are ignored. */
function areTopLevel(resetFields: FieldSet): boolean {
  return Object.values(resetFields ?? {}).every((node) => node === leaf);
}

function withoutReset(object: JsonObject, resetFields: FieldSet): JsonObject {
  if (resetFields === undefined) return object;
  const out: JsonObject = {};
  for (const key of Object.keys(object)) if (!Object.hasOwn(resetFields, `f:${key}`)) setOwn(out, key, object[key]);
  return out;
}

/** Gives the updater what it added and changed, and takes that from the others, and what is gone from everyone. */
function* ownSteps(managers: Managers, comparison: Comparison, me: Manager): Steps<Managers> {
  const id = identityOf(me);
  const after = yield* releaseSteps(managers, comparison, id);
  yield;
  const before = after.get(id);
  const kept = difference(before?.fields, comparison.removed);
  yield;
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
  const before = { ...managerOf(request, 'Update'), manager: BEFORE_FIRST_APPLY, subresource: '', fields };
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
function* releaseSteps(managers: Managers, { changed, removed }: Comparison, me: string): Steps<Managers> {
  const gone = union(removed, changed);
  const out: Managers = new Map();
  yield;
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
function* pruneSteps(merged: JsonObject, { schema, last, owners }: Pruning): Steps<JsonObject> {
  yield;
  const owned = unionAll([...owners.values()].map(({ fields }) => fields));
  yield;
  if (difference(last, owned) === undefined) return merged;
  const setOf = function* (object: unknown): Steps<FieldSet> {
    yield;
    const set = fieldSetOf(schema, object, { lenient: true });
    yield;
    return withNamedFields(schema, set);
  };
  const remove = (set: FieldSet): JsonObject => (removePaths(schema, merged, set) ?? {}) as JsonObject;
  const mergedSet = yield* setOf(merged);
  yield;
  const lastSet = withNamedFields(schema, last);
  yield;
  const bareSet = yield* setOf(remove(lastSet));
  yield;
  const keptSet = union(bareSet, withNamedFields(schema, owned));
  yield;
  const surplus = difference(mergedSet, keptSet);
  yield;
  const withOwnedSet = yield* setOf(remove(surplus));
  yield;
  const unowned = difference(mergedSet, withOwnedSet);
  yield;
  return remove(intersection(unowned, lastSet));
}

/** The conflicts left when kubectl takes over what its own client-side apply set, as the annotation records it. */
function notAllowed(conflicts: ManagerConflict[], live: JsonObject, request: ApplyRequest): ManagerConflict[] {
  if (request.manager !== KUBECTL || conflicts.length === 0) return conflicts;
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
function stripManaged(object: JsonObject): JsonObject {
  const metadata = getOwn(object, 'metadata');
  if (!isObject(metadata) || !Object.hasOwn(metadata, 'managedFields')) return object;
  const rest: JsonObject = {};
  // Copied field by field: an object that a field was deleted from is slow for whoever comes after.
  for (const key of Object.keys(metadata)) if (key !== 'managedFields') setOwn(rest, key, metadata[key]);
  return { ...object, metadata: rest };
}

/** The object with these managed fields instead of its own. */
export function withManaged(object: JsonObject, entries: readonly ManagedFieldsEntry[]): JsonObject {
  if (entries.length === 0) return stripManaged(object);
  const metadata = getOwn(object, 'metadata');
  return { ...object, metadata: { ...(isObject(metadata) ? metadata : {}), managedFields: entries } };
}
