/** Validation of the versions of reviews that a webhook understands. Upstream: webhook validation of admissionregistration and apiextensions. */
import type { Field } from '../field-error.ts';
import { isDns1035Label } from '../names.ts';

/** The versions of which a webhook must understand one. */
export const KNOWN_REVIEW_VERSIONS: readonly string[] = ['v1', 'v1beta1'];

/** `requiredText`: the error of an empty list. */
export function validateReviewVersions(versions: readonly string[], field: Field, requiredText?: string): void {
  if (versions.length === 0) return field.required(requiredText);
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    if (seen.has(version)) field.item(index).invalid(version, 'duplicate version');
    else field.item(index).complain(version, isDns1035Label(version));
    seen.add(version);
  }
  if (!versions.some((version) => KNOWN_REVIEW_VERSIONS.includes(version)))
    field.invalid(versions, `must include at least one of ${KNOWN_REVIEW_VERSIONS.join(', ')}`);
}
