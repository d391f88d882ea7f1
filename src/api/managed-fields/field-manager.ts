// The tracking of updates: who owns which field after a write that is no apply (apply.ts).
// Upstream: structured-merge-diff/merge/update.go under apimachinery/pkg/util/managedfields. All functions are pure.
//
// Managers of other API versions of the kind are compared by the same paths: callers that store one version and convert
// hand in objects and managed fields of one version.

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
import { ListKeyError } from './path-element.ts';

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

/** The new object of an update, patch or create with its managed fields brought up to date, without a pause. */
export function trackUpdate(live: JsonObject | undefined, next: JsonObject, request: FieldManagerRequest): JsonObject {
  return withManaged(next, allSteps(updatedEntriesSteps(live, next, request)));
}

/**
 * The managed fields of the new object of an update, patch or create. Managed fields the client sent are taken as the
 * starting point; a single empty entry resets them. An object with lists that lack their keys cannot be compared and loses its
 * managed fields, as by upstream's UpdateNoErrors. Each step goes through the objects about once.
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
  const compared = compareIfKeyed(schema, before, next);
  if (compared === undefined) return [];
  const comparison = exclude(compared, resetFields);
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
    const compared = compareIfKeyed(schema, emptyObject(schema, object), canonicalOf(object));
    return compared && withoutMetadata(recursiveDifference(compared.changed, resetFields));
  });
  return fields === undefined ? [] : [entryOf({ ...managerOf(request, 'Update'), fields })];
}

/** The entries of a new canonical object that came without any; its shape is too large to be remembered. */
function* createdSteps(next: JsonObject, request: FieldManagerRequest): Steps<ManagedFieldsEntry[]> {
  const { schema, resetFields } = request;
  const object = withoutReset(stripManaged(next), resetFields);
  try {
    yield* largeListSteps(schema, object);
  } catch (error) {
    if (!(error instanceof ListKeyError)) throw error; // The comparison finds it again.
  }
  yield;
  const compared = compareIfKeyed(schema, emptyObject(schema, object), object);
  if (compared === undefined) return [];
  yield;
  const fields = withoutMetadata(recursiveDifference(compared.changed, resetFields));
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

export function managerOf(request: FieldManagerRequest, operation: 'Apply' | 'Update'): Manager {
  const { manager, apiVersion, subresource = '', time } = request;
  return { manager, apiVersion, subresource, time, operation, fields: undefined };
}

/** Undefined for an object with a list that lacks its keys. */
function compareIfKeyed(schema: StructSchema, before: JsonObject, after: JsonObject): Comparison | undefined {
  try {
    return compareObjects(schema, before, after);
  } catch (error) {
    if (error instanceof ListKeyError) return undefined;
    throw error;
  }
}
