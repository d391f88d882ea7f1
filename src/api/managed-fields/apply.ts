// Server-side apply: owners of fields, removal of fields that are no longer applied, and conflicts. Upstream:
// structured-merge-diff/merge/update.go (Apply) under apimachinery/pkg/util/managedfields. All functions are pure.
import { allSteps, type Steps } from '../../base/steps.ts';
import { canonicalize } from '../codec/canonical.ts';
import { getOwn, isObject, type JsonObject } from '../codec/own-property.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import { equal } from '../patch/json-patch.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { badRequest, statusFailure } from '../status-error.ts';
import { type ConflictReport, describeConflicts, type ManagerConflict } from './conflicts.ts';
import { compare, type Comparison, exclude } from './field-compare.ts';
import { fieldSetOf, withNamedFields } from './field-extract.ts';
import { type FieldManagerRequest, managerOf } from './field-manager.ts';
import { mergeApplied, removePaths } from './field-merge.ts';
import { difference, type FieldSet, intersection, recursiveDifference, sameSet, union, unionAll } from './field-set.ts';
import { lastAppliedFields, withLastApplied } from './last-applied.ts';
import { compareObjects, emptyObject, entriesOf, releaseSteps, stripManaged, withManaged } from './managed-entries.ts';
import { identityOf, type Manager, type Managers, readManagers, withoutMetadata, writeManagers } from './managers.ts';
import { ListKeyError } from './path-element.ts';

export interface ApplyRequest extends FieldManagerRequest {
  /** Take conflicting fields from their owners instead of failing. */
  readonly force: boolean;
}

/** The result of {@link apply}: the object with its managed fields, or the conflicts. */
export type ApplyResult =
  | { readonly kind: 'applied'; readonly object: JsonObject; readonly managedFields: ManagedFieldsEntry[] }
  | ({ readonly kind: 'conflict' } & ConflictReport);

/** The field manager whose applies take over fields from client-side apply and keep its annotation current. */
const KUBECTL = 'kubectl';

const BEFORE_FIRST_APPLY = 'before-first-apply';

/** {@link applySteps}, run without a pause. */
export function apply(live: JsonObject | undefined, applied: JsonObject, request: ApplyRequest): ApplyResult {
  return allSteps(applySteps(live, applied, request));
}

/**
 * Applies a configuration (decoded sparsely, with list keys present) to the live object, or creates the object. Throws a
 * StatusError (400) for a configuration with managed fields or with lists that lack keys. The result is canonical but has no
 * defaults. Each step traverses the objects about once.
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
  // A manager whose apply changes nothing is added without a time.
  if (isSame) after.set(id, { ...after.get(id)!, time: last?.time });
  yield;
  const managedFields = writeManagers(after);
  return { kind: 'applied', object: withManaged(object, managedFields), managedFields };
}

/** The fields that a configuration contains. */
function appliedFields(schema: StructSchema, applied: JsonObject): FieldSet {
  try {
    return fieldSetOf(schema, stripManaged(applied));
  } catch (error) {
    if (!(error instanceof ListKeyError)) throw error;
    throw notTyped(applied, `${error.path}: ${error.message}`);
  }
}

/** The error of a configuration that does not fit its kind's schema. Upstream returns it without a reason: 500. */
export function notTyped(applied: JsonObject, problem: string): Error {
  const metadata = getOwn(applied, 'metadata');
  // As an unstructured object in Go, a value that is no text counts as absent.
  const textOf = (key: string): string => {
    const value = isObject(metadata) ? metadata[key] : undefined;
    return typeof value === 'string' ? value : '';
  };
  const apiVersion = String(applied['apiVersion']);
  // As Go prints a kind: the group, possibly empty, before the slash.
  const version = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  const object = `${textOf('namespace')}/${textOf('name')}; ${version}, Kind=${String(applied['kind'])}`;
  return statusFailure(500, '', `failed to create typed patch object (${object}): ${problem}`);
}

/** Before the first apply of an object without managed fields, its fields are attributed to one manager that only updated it. */
function managersForApply(live: JsonObject | undefined, base: JsonObject, request: ApplyRequest): Managers {
  const managers =
    live === undefined ? new Map<string, Manager>() : (readManagers(entriesOf(live)) ?? new Map<string, Manager>());
  if (live === undefined || managers.size > 0) return managers;
  const everything = compareObjects(request.schema, emptyObject(request.schema, base), base);
  const fields = withoutMetadata(recursiveDifference(everything.changed, request.resetFields));
  if (fields === undefined) return managers;
  const before = { ...managerOf(request, 'Update'), manager: BEFORE_FIRST_APPLY, subresource: '', fields };
  return managers.set(identityOf(before), before);
}

/** Fields that the apply would add or change and that other managers own. */
function conflictsOf(managers: Managers, { changed }: Comparison, me: string): ManagerConflict[] {
  const out: ManagerConflict[] = [];
  for (const [id, manager] of managers) {
    const fields = id === me ? undefined : intersection(manager.fields, changed);
    if (fields !== undefined) out.push({ manager, fields });
  }
  return out;
}

interface Pruning {
  schema: StructSchema;
  last: FieldSet;
  owners: Managers;
}

/** Removes fields that this applier owned and no longer applies, unless another manager owns them. */
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

/** The conflicts that remain when kubectl takes over fields of its client-side apply, which the annotation records. */
function notAllowed(conflicts: ManagerConflict[], live: JsonObject, request: ApplyRequest): ManagerConflict[] {
  if (request.manager !== KUBECTL || conflicts.length === 0) return conflicts;
  const allowed = lastAppliedFields(live, request.schema, request.apiVersion);
  return conflicts
    .map(({ manager, fields }) => ({ manager, fields: difference(fields, allowed) }))
    .filter(({ fields }) => fields !== undefined);
}

/** Whether two tables of managers are equal except for the times. */
function sameManagers(a: Managers, b: Managers): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([id, m]) => {
    const other = b.get(id);
    return other !== undefined && other.apiVersion === m.apiVersion && sameSet(other.fields, m.fields);
  });
}
