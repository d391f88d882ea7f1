// Objects and changes in the versions of their managers. A manager's fields have the paths of the version of its request, so a
// change counts for it as it looks there. Upstream: versionConverter, and Updater.update in structured-merge-diff/merge.
// Differs: only kinds whose versions differ by their schemas alone (`versions`) are compared so; all others by the same paths.

import type { JsonObject } from '../codec/own-property.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { type Comparison, exclude } from './field-compare.ts';
import type { FieldSet } from './field-set.ts';
import { compareObjects, stripManaged } from './managed-entries.ts';
import type { Managers } from './managers.ts';
import { typeErrors } from './typed-value.ts';

/** What is known of the versions of a kind. */
export interface KindVersions {
  /** The API version of the request. */
  readonly apiVersion: string;
  readonly schema: StructSchema;
  /** The schemas of all versions by API version. Absent: fields have the same paths in every version. */
  readonly versions?: ReadonlyMap<string, StructSchema> | undefined;
  /** Fields that no manager of another version acquires here. */
  readonly otherResetFields?: FieldSet;
}

/** The error of an object that has no form in a manager's version. The message is upstream's. */
export class VersionError extends Error {
  override readonly name = 'VersionError';
}

/** The schema of a manager's version. Throws a {@link VersionError} where the kind has no such version, or the object does not fit it. */
export function schemaIn(kind: KindVersions, apiVersion: string, object: JsonObject): StructSchema {
  if (kind.versions === undefined || apiVersion === kind.apiVersion) return kind.schema;
  const schema = kind.versions.get(apiVersion);
  if (schema === undefined) throw new VersionError(`request to convert CR to an invalid group/version: ${apiVersion}`);
  const problem = typeErrors(schema, stripManaged(object));
  if (problem !== undefined) throw new VersionError(problem);
  return schema;
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
      schemaIn(kind, apiVersion, before);
      const schema = schemaIn(kind, apiVersion, after);
      comparison = exclude(compareObjects(schema, before, after), kind.otherResetFields);
      comparisons.set(apiVersion, comparison);
    }
    return comparison;
  };
}
