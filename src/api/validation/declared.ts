/**
 * Checks that upstream generates from tags on its types (`+k8s:required`, `+k8s:unionMember`, `+k8s:immutable`): their
 * texts differ from those written by hand. What an update leaves as it was is not looked at again.
 * Upstream: apimachinery/pkg/api/validate.
 */
import { deepEqual } from '../../base/equal.ts';
import { type Field } from '../field-error.ts';
import type { Int64 } from '../int64.ts';
import { FIELD_IMMUTABLE_TEXT } from '../meta-validation.ts';

/** Gives the complaints about a text; none when it is right. */
export type TextCheck = (text: string) => readonly string[];

/** A text that must be there, of a form. */
export function validateRequiredText(text: string | undefined, check: TextCheck, field: Field): void {
  if (text === undefined || text === '') field.required();
  else field.complain(text, check(text));
}

/** A text that may be missing. Only a pointer distinguishes an empty text from a missing one. */
export function validateOptionalText(text: string | undefined, check: TextCheck, field: Field): void {
  if (text !== undefined) field.complain(text, check(text));
}

/** A number that is at least so much; absent is fine. */
export function validateMinimum(value: Int64 | undefined, minimum: number, field: Field): void {
  if (value !== undefined && value < minimum) field.invalid(value, `must be greater than or equal to ${minimum}`);
}

/** A number that is at most so much; absent is fine. */
export function validateMaximum(value: Int64 | undefined, maximum: number, field: Field): void {
  if (value !== undefined && value > maximum) field.invalid(value, `must be less than or equal to ${maximum}`);
}

/** Exactly one of these fields must be set. */
export function validateUnion(value: object, members: readonly string[], field: Field): void {
  const set = members.filter((member) => (value as Readonly<Record<string, unknown>>)[member] !== undefined);
  const all = members.map((member) => `\`${member}\``).join(', ');
  if (set.length === 0) field.invalid('', `must specify one of: ${all}`);
  else if (set.length > 1) field.invalid(`{${set.join(', ')}}`, `must specify exactly one of: ${all}`);
}

/** True where a part changed that must not change, and the complaint is made. */
export function hasForbiddenChange(value: unknown, old: unknown, field: Field): boolean {
  if (deepEqual(value, old)) return false;
  field.invalid(null, FIELD_IMMUTABLE_TEXT);
  return true;
}

/** Items with the name of an earlier one, before the items themselves. False for too many: none is looked at. */
export function validateNamedItems<T extends { readonly name?: string }>(
  items: readonly T[],
  max: number,
  field: Field,
): boolean {
  if (items.length > max) {
    field.tooMany(items.length, max);
    return false;
  }
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (seen.has(item.name ?? '')) field.item(index).duplicate(item);
    seen.add(item.name ?? '');
  }
  return true;
}
