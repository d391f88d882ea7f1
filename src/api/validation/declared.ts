/**
 * Checks that upstream generates from tags on its types (`+k8s:required`, `+k8s:unionMember`, `+k8s:immutable`). Their texts
 * differ from those of handwritten validation. Unchanged values of an update are not checked again. Upstream:
 * apimachinery/pkg/api/validate.
 */
import { deepEqual } from '../../base/equal.ts';
import { type Field } from '../field-error.ts';
import type { Int64 } from '../int64.ts';
import { FIELD_IMMUTABLE_TEXT } from '../meta-validation.ts';

/** Returns the errors of a text, none for a valid one. */
export type TextCheck = (text: string) => readonly string[];

/** A required text of a certain form. */
export function validateRequiredText(text: string | undefined, check: TextCheck, field: Field): void {
  if (text === undefined || text === '') field.required();
  else field.complain(text, check(text));
}

/** An optional text. An empty text differs from an absent one only when upstream's field is a pointer. */
export function validateOptionalText(text: string | undefined, check: TextCheck, field: Field): void {
  if (text !== undefined) field.complain(text, check(text));
}

/** The number must be at least `minimum`; it may be absent. */
export function validateMinimum(value: Int64 | undefined, minimum: number, field: Field): void {
  if (value !== undefined && value < minimum) field.invalid(value, `must be greater than or equal to ${minimum}`);
}

/** The number must be at most `maximum`; it may be absent. */
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

/** Returns true and adds an error when an immutable value changed. */
export function hasForbiddenChange(value: unknown, old: unknown, field: Field): boolean {
  if (deepEqual(value, old)) return false;
  field.invalid(null, FIELD_IMMUTABLE_TEXT);
  return true;
}

/** Adds errors for repeated names, then validates the items. Returns false for too many items, of which none is validated. */
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
