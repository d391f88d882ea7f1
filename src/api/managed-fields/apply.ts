// Server-side apply: owners of fields, removal of fields that are no longer applied, and conflicts. Upstream:
// structured-merge-diff/merge/update.go (Apply) under apimachinery/pkg/util/managedfields. All functions are pure.
import { allSteps, type Steps } from '../../base/steps.ts';
import { canonicalize } from '../codec/canonical.ts';
import { getOwn, isObject, type JsonObject } from '../codec/own-property.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import { equal } from '../patch/json-patch.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { badRequest, statusFailure } from '../status-error.ts';
import { type ConflictReport, describeConflicts, inScale, type ManagerConflict } from './conflicts.ts';
import { compare, exclude } from './field-compare.ts';
import { fieldSetOf } from './field-extract.ts';
import { type FieldManagerRequest, managerOf } from './field-manager.ts';
import { mergeApplied } from './field-merge.ts';
import { difference, type FieldSet, intersection, recursiveDifference, sameSet } from './field-set.ts';
import { lastAppliedFields, withLastApplied } from './last-applied.ts';
import { compareObjects, emptyObject, entriesOf, releaseSteps, stripManaged, withManaged } from './managed-entries.ts';
import { identityOf, type Manager, type Managers, readManagers, withoutMetadata, writeManagers } from './managers.ts';
import { type ComparisonIn, comparisonsOf, objectIn, VersionError, withServedVersions } from './other-versions.ts';
import { ListKeyError } from './path-element.ts';
import { pruneSteps } from './prune-applied.ts';

export interface ApplyRequest extends FieldManagerRequest {
  /** Take conflicting fields from their owners instead of failing. */
  readonly force: boolean;
}

/** The result of {@link apply}: the object with its managed fields, or the conflicts. */
export type ApplyResult =
  | {
      readonly kind: 'applied';
      readonly object: JsonObject;
      readonly managedFields: ManagedFieldsEntry[];
      /** Whether the object has all that was applied, written as it is, and no defaults are due. */
      readonly isUnchanged: boolean;
    }
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
  try {
    return yield* stepsOf(live, applied, request);
  } catch (error) {
    if (error instanceof VersionError) throw statusFailure(500, '', error.message);
    throw error;
  }
}

function* stepsOf(live: JsonObject | undefined, applied: JsonObject, request: ApplyRequest): Steps<ApplyResult> {
  const { schema, resetFields } = request;
  const base = stripManaged(live ?? emptyObject(schema, applied));
  const managers = withServedVersions(request, managersForApply(live, base, request));
  for (const { apiVersion } of managers.values()) objectIn(request, apiVersion, base);
  const me = managerOf(request, 'Apply');
  const id = identityOf(me);
  const last = managers.get(id);
  if (entriesOf(applied).length > 0) throw badRequest('metadata.managedFields must be nil');
  yield;
  const named = recursiveDifference(appliedFields(schema, applied), resetFields);
  const owners: Managers = new Map(managers).set(id, { ...me, fields: named });
  yield;
  const merged = mergeApplied(schema, base, stripManaged(applied)) as JsonObject;
  const pruned = yield* pruneSteps(merged, { kind: request, last, owners });
  yield;
  const own = exclude(compare(schema, base, pruned), resetFields);
  const inVersion = comparisonsOf(request, { before: base, after: pruned, own });
  yield;
  const conflicts = request.force ? [] : notAllowed(conflictsOf(owners, inVersion, id), base, request);
  yield;
  if (conflicts.length > 0) {
    const shown = request.subresource === 'scale' ? inScale(conflicts) : conflicts;
    return { kind: 'conflict', ...describeConflicts(shown) };
  }
  const after = (yield* releaseSteps(owners, inVersion, id)).set(id, { ...me, fields: withoutMetadata(named) });
  yield;
  const canonical = schema.custom === true ? withCanonicalMetadata(schema, pruned) : canonicalize(schema, pruned);
  const isSame = live !== undefined && equal(canonical, base);
  const object = request.manager === KUBECTL ? withLastApplied(canonical, applied) : canonical;
  yield;
  if (isSame && sameManagers(managers, after) && (object === canonical || equal(object, base))) {
    return { kind: 'applied', object: live, managedFields: entriesOf(live), isUnchanged: true };
  }
  // A manager whose apply changes nothing, not even how a value is written, is added without a time.
  const isUnchanged = isSame && equal(pruned, base);
  if (isUnchanged) after.set(id, { ...after.get(id)!, time: last?.time });
  yield;
  const managedFields = writeManagers(after);
  return { kind: 'applied', object: withManaged(object, managedFields), managedFields, isUnchanged };
}

/** A custom object keeps its nulls, which validation refuses where the schema does. */
function withCanonicalMetadata(schema: StructSchema, { metadata, ...rest }: JsonObject): JsonObject {
  return { ...rest, metadata: canonicalize(schema, { metadata })['metadata'] };
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
function conflictsOf(managers: Managers, inVersion: ComparisonIn, me: string): ManagerConflict[] {
  const out: ManagerConflict[] = [];
  for (const [id, manager] of managers) {
    const fields = id === me ? undefined : intersection(manager.fields, inVersion(manager.apiVersion).changed);
    if (fields !== undefined) out.push({ manager, fields });
  }
  return out;
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
