// Objects and changes in the versions of their managers. A manager's fields have the paths of the version of its request, so a
// change counts for it as it looks there. Upstream: versionConverter, and Updater.update in structured-merge-diff/merge.
// Differs: kinds without `versions`, such as those that a webhook converts, are compared by the same paths.

import { canonicalize } from '../codec/canonical.ts';
import type { JsonObject } from '../codec/own-property.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { type Comparison, exclude } from './field-compare.ts';
import type { FieldSet } from './field-set.ts';
import { compareObjects, stripManaged } from './managed-entries.ts';
import type { Managers } from './managers.ts';
import { typeErrors } from './typed-value.ts';

export interface VersionForm {
  readonly schema: StructSchema;
  /** To and from the stored version, where they differ by more than their schemas. */
  readonly conversion?: VersionConversion | undefined;
}

export interface VersionConversion {
  toStored(object: JsonObject): JsonObject;
  fromStored(object: JsonObject): JsonObject;
}

export type VersionForms = ReadonlyMap<string, VersionForm>;

/** What is known of the versions of a kind. */
export interface KindVersions {
  /** The API version of the request. */
  readonly apiVersion: string;
  readonly schema: StructSchema;
  /** All versions by API version. Absent: fields have the same paths in every version. */
  readonly versions?: VersionForms | undefined;
  /** Fields that no manager of another version acquires here. */
  readonly otherResetFields?: FieldSet;
}

/** The error of an object that has no form in a manager's version. The message is upstream's. */
export class VersionError extends Error {
  override readonly name = 'VersionError';
}

export interface VersionedObject {
  readonly schema: StructSchema;
  readonly object: JsonObject;
}

/**
 * The request's object in a manager's version. Throws a {@link VersionError} where the kind has no such version, or the object
 * does not fit it.
 */
export function objectIn(kind: KindVersions, apiVersion: string, object: JsonObject): VersionedObject {
  if (kind.versions === undefined || apiVersion === kind.apiVersion) return { schema: kind.schema, object };
  const form = kind.versions.get(apiVersion);
  if (form === undefined) throw new VersionError(`request to convert CR to an invalid group/version: ${apiVersion}`);
  const converted = convert(kind, object, { from: kind.apiVersion, to: apiVersion });
  const problem = typeErrors(form.schema, stripManaged(converted));
  if (problem !== undefined) throw new VersionError(problem);
  return { schema: form.schema, object: converted };
}

/** The object of one version in another. */
export function convert(
  { versions }: KindVersions,
  object: JsonObject,
  { from, to }: { readonly from: string; readonly to: string },
): JsonObject {
  const [source, target] = [versions?.get(from), versions?.get(to)];
  if (from === to || (source?.conversion ?? target?.conversion) === undefined) return object;
  // A part of an object may be left.
  const whole = { metadata: {}, spec: {}, ...object };
  const stored = source?.conversion?.toStored(whole) ?? whole;
  const converted = target?.conversion?.fromStored(stored) ?? stored;
  return target === undefined ? converted : canonicalize(target.schema, converted);
}

/**
 * The managers without those whose version a built-in kind does not have (any more), as upstream forgets them. Of a custom resource
 * such a manager is an error.
 */
export function withServedVersions({ versions, schema, apiVersion }: KindVersions, managers: Managers): Managers {
  if (versions === undefined || schema.custom === true) return managers;
  return new Map([...managers].filter(([, one]) => one.apiVersion === apiVersion || versions.has(one.apiVersion)));
}

/** Whether a manager other than `me` has a version of its own. */
export function spansVersions({ versions, apiVersion }: KindVersions, managers: Managers, me: string): boolean {
  return versions !== undefined && [...managers].some(([id, one]) => id !== me && one.apiVersion !== apiVersion);
}

/** A change as the managers of an API version see it. Throws a {@link VersionError}. */
export type ComparisonIn = (apiVersion: string) => Comparison;

/** `own`: the comparison in the version of the request. */
export function comparisonsOf(
  kind: KindVersions,
  { before, after, own }: { before: JsonObject; after: JsonObject; own: Comparison },
): ComparisonIn {
  const comparisons = new Map<string, Comparison>();
  return (apiVersion) => {
    if (kind.versions === undefined || apiVersion === kind.apiVersion) return own;
    let comparison = comparisons.get(apiVersion);
    if (comparison === undefined) {
      const { object: old } = objectIn(kind, apiVersion, before);
      const { schema, object } = objectIn(kind, apiVersion, after);
      comparison = exclude(compareObjects(schema, old, object), kind.otherResetFields);
      comparisons.set(apiVersion, comparison);
    }
    return comparison;
  };
}
