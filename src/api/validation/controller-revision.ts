/** Validation of controller revisions. Upstream: apis/apps/validation. */
import type { Field } from '../field-error.ts';
import type { ControllerRevision } from '../gen/apps-v1.ts';
import { validateNonnegative, validateImmutable } from './common.ts';

export function validateControllerRevision(revision: ControllerRevision, field: Field): void {
  validateNonnegative(revision.revision, field.at('revision'));
  const { data } = revision;
  if (data === undefined || data === null) field.at('data').required('data is mandatory');
  else if (typeof data !== 'object' || Array.isArray(data))
    field.at('data').required('data must be a valid JSON object');
}

/** The data of a revision is immutable. */
export function validateControllerRevisionUpdate(
  revision: ControllerRevision,
  old: ControllerRevision,
  field: Field,
): void {
  validateNonnegative(revision.revision, field.at('revision'));
  validateImmutable(revision.data, old.data, field.at('data'));
}
