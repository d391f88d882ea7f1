// Tracks updates: the owners of fields after a write other than an apply (apply.ts). Upstream:
// structured-merge-diff/merge/update.go under apimachinery/pkg/util/managedfields. All functions are pure.
// Fields of managers of other API versions: other-versions.ts.

import { allSteps, type Steps } from '../../base/steps.ts';
import { type JsonObject, setOwn } from '../codec/own-property.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { createdFields } from './created-fields.ts';
import { type Comparison, exclude, isUnchanged, largeListSteps } from './field-compare.ts';
import { difference, type FieldSet, leaf, recursiveDifference, union } from './field-set.ts';
import { compareObjects, emptyObject, entriesOf, releaseSteps, stripManaged, withManaged } from './managed-entries.ts';
import {
  entryOf,
  identityOf,
  type Manager,
  type Managers,
  readManagers,
  withoutMetadata,
  writeManagers,
} from './managers.ts';
import {
  type ComparisonIn,
  comparisonsOf,
  spansVersions,
  type VersionForms,
  VersionError,
  withServedVersions,
} from './other-versions.ts';
import { ListKeyError } from './path-element.ts';

/** The input of updates and applies. */
export interface FieldManagerRequest {
  readonly schema: StructSchema;
  /** The field manager's name. */
  readonly manager: string;
  /** The API version of the request's body: `apps/v1`. */
  readonly apiVersion: string;
  /** The sub-resource of the request; empty or absent for the object itself. */
  readonly subresource?: string;
  /** The current time, RFC 3339 in whole seconds. Undefined for entries without a time. */
  readonly time: string | undefined;
  /**
   * Fields that this endpoint ignores (`status` on the object itself, all other fields on its status): no manager acquires them
   * here.
   */
  readonly resetFields?: FieldSet;
  /** The kind's versions by API version, where they differ. */
  readonly versions?: VersionForms | undefined;
  /** Fields that this endpoint ignores in the kind's other versions. */
  readonly otherResetFields?: FieldSet;
}

/** The new object of an update, patch or create with current managed fields, computed without a pause. */
export function trackUpdate(live: JsonObject | undefined, next: JsonObject, request: FieldManagerRequest): JsonObject {
  return withManaged(next, allSteps(updatedEntriesSteps(live, next, request)));
}

/**
 * The managed fields of the new object of an update, patch or create. Managed fields in the client's object are the starting
 * point; a single empty entry resets them. An object with lists that lack keys, or without a form in a manager's version, cannot
 * be compared and loses its managed fields, as with upstream's UpdateNoErrors. Each step traverses the objects about once.
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
  const liveEntries = live === undefined ? [] : entriesOf(live);
  const managers = reset
    ? new Map<string, Manager>()
    : (fromClient ?? readManagers(liveEntries) ?? new Map<string, Manager>());
  const untracked = live !== undefined && managers.size === 0;
  if (untracked) return [];
  if (live === undefined && managers.size === 0 && areTopLevel(resetFields)) return yield* createdSteps(next, request);
  const before = live ?? emptyObject(schema, next);
  yield;
  const compared = compareIfKeyed(schema, before, next);
  if (compared === undefined) return [];
  const own = exclude(compared, resetFields);
  yield;
  const me = managerOf(request, 'Update');
  if (isUnchanged(own) && live !== undefined && !spansVersions(request, managers, identityOf(me)))
    return fromClient === undefined ? liveEntries : writeManagers(managers);
  try {
    const after = yield* ownSteps(
      withServedVersions(request, managers),
      { own, inVersion: comparisonsOf(request, { before, after: next, own }) },
      me,
    );
    yield;
    return writeManagers(after);
  } catch (error) {
    if (error instanceof VersionError) return [];
    throw error;
  }
}

/**
 * The entries of a new object that was sent without any. `canonicalOf` returns the canonical shape of a decoded object with
 * undefined or zero fields; it is absent when the object is canonical. The endpoint ignores no fields, or whole top-level fields.
 */
export function createdEntries(
  next: JsonObject,
  request: FieldManagerRequest,
  canonicalOf: (object: JsonObject) => JsonObject = (object) => object,
): ManagedFieldsEntry[] {
  const { schema, resetFields } = request;
  const object = withoutReset(stripManaged(next), resetFields);
  const fields = createdFields(schema, object, () => {
    const compared = compareIfKeyed(schema, emptyObject(schema, object), canonicalOf(object));
    return compared && withoutMetadata(recursiveDifference(compared.changed, resetFields));
  });
  return fields === undefined ? [] : [entryOf({ ...managerOf(request, 'Update'), fields })];
}

/** The entries of a new canonical object that was sent without any and whose shape is too large for the cache. */
function* createdSteps(next: JsonObject, request: FieldManagerRequest): Steps<ManagedFieldsEntry[]> {
  const { schema, resetFields } = request;
  const object = withoutReset(stripManaged(next), resetFields);
  try {
    yield* largeListSteps(schema, object);
  } catch (error) {
    if (!(error instanceof ListKeyError)) throw error; // The comparison reports the same error.
  }
  yield;
  const compared = compareIfKeyed(schema, emptyObject(schema, object), object);
  if (compared === undefined) return [];
  yield;
  const fields = withoutMetadata(recursiveDifference(compared.changed, resetFields));
  yield;
  return fields === undefined ? [] : [entryOf({ ...managerOf(request, 'Update'), fields })];
}

/** Whether only whole top-level fields are ignored. */
function areTopLevel(resetFields: FieldSet): boolean {
  return Object.values(resetFields ?? {}).every((node) => node === leaf);
}

function withoutReset(object: JsonObject, resetFields: FieldSet): JsonObject {
  if (resetFields === undefined) return object;
  const out: JsonObject = {};
  for (const key of Object.keys(object)) if (!Object.hasOwn(resetFields, `f:${key}`)) setOwn(out, key, object[key]);
  return out;
}

/** Adds added and changed fields to the updater's set, removes them from those of others, and removes deleted fields from all. */
function* ownSteps(
  managers: Managers,
  { own, inVersion }: { own: Comparison; inVersion: ComparisonIn },
  me: Manager,
): Steps<Managers> {
  const id = identityOf(me);
  const after = yield* releaseSteps(managers, inVersion, id);
  yield;
  const before = after.get(id);
  const remaining = difference(before?.fields, own.removed);
  yield;
  const gained = withoutMetadata(own.changed);
  if (gained !== undefined) return after.set(id, { ...me, fields: union(remaining, gained) });
  if (before !== undefined) after.set(id, { ...before, fields: remaining });
  return after;
}

export function managerOf(request: FieldManagerRequest, operation: 'Apply' | 'Update'): Manager {
  const { manager, apiVersion, subresource = '', time } = request;
  return { manager, apiVersion, subresource, time, operation, fields: undefined };
}

/** Undefined for an object with a list that lacks keys. */
function compareIfKeyed(schema: StructSchema, before: JsonObject, after: JsonObject): Comparison | undefined {
  try {
    return compareObjects(schema, before, after);
  } catch (error) {
    if (error instanceof ListKeyError) return undefined;
    throw error;
  }
}
