/**
 * Field errors with upstream's texts, and the paths they name. Paths are plain strings (`spec.containers[0].name`).
 * Upstream: apimachinery/pkg/util/validation/field.
 */
import type { FieldCause } from './status-error.ts';

/** Collects what a validation finds wrong, in order. */
export type FieldErrors = FieldCause[];

/** `path.name`; just the name at the root. */
export function at(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** `path[3]`. */
export function item(path: string, index: number): string {
  return `${path}[${index}]`;
}

/** `path[key]`. */
export function keyed(path: string, key: string): string {
  return `${path}[${key}]`;
}

/** How upstream shows a value: quoted text, bare number or boolean, JSON for the rest. */
export function renderValue(value: unknown): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  return JSON.stringify(value);
}

const CONTROL: Readonly<Record<string, string>> = { '07': '\\a', '0b': '\\v' };

/** A text in double quotes, escaped as Go's %q. */
export function quote(text: string): string {
  // JSON differs from Go only in control characters it writes as \u00XX where Go has \x or \a, \v.
  return JSON.stringify(text).replace(/\\u00([01][0-9a-f])/g, (_, hex: string) => CONTROL[hex] ?? `\\x${hex}`);
}

function cause(reason: string, field: string, head: string, detail: string): FieldCause {
  return { reason, field, text: detail === '' ? head : `${head}: ${detail}` };
}

/** `Required value: detail`. */
export function required(field: string, detail = ''): FieldCause {
  return cause('FieldValueRequired', field, 'Required value', detail);
}

/** `Invalid value: "x": detail`. */
export function invalidValue(field: string, value: unknown, detail: string): FieldCause {
  return cause('FieldValueInvalid', field, `Invalid value: ${renderValue(value)}`, detail);
}

/** `Invalid value: "x": detail`, for a value of the wrong type. */
export function typeInvalid(field: string, value: unknown, detail: string): FieldCause {
  return cause('FieldValueTypeInvalid', field, `Invalid value: ${renderValue(value)}`, detail);
}

/** `Unsupported value: "x": supported values: "A", "B"`. Values are shown in the order given. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldCause {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map(quote).join(', ')}`;
  return cause('FieldValueNotSupported', field, `Unsupported value: ${renderValue(value)}`, detail);
}

/** `Duplicate value: "x"`. */
export function duplicate(field: string, value: unknown): FieldCause {
  return cause('FieldValueDuplicate', field, `Duplicate value: ${renderValue(value)}`, '');
}

/** `Forbidden: detail`. */
export function forbiddenField(field: string, detail: string): FieldCause {
  return cause('FieldValueForbidden', field, 'Forbidden', detail);
}

/** `Not found: "x"`. */
export function notFoundField(field: string, value: unknown): FieldCause {
  return cause('FieldValueNotFound', field, `Not found: ${renderValue(value)}`, '');
}

/** `Too long: may not be more than 63 bytes`. */
export function tooLong(field: string, maxBytes: number): FieldCause {
  return cause('FieldValueTooLong', field, 'Too long', `may not be more than ${maxBytes} bytes`);
}

/** `Too many: 5: must have at most 3 items`. */
export function tooMany(field: string, actual: number, max: number): FieldCause {
  const items = max === 1 ? 'item' : 'items';
  return cause('FieldValueTooMany', field, `Too many: ${actual}`, `must have at most ${max} ${items}`);
}

/** `Internal error: detail`. */
export function internalFieldError(field: string, detail: string): FieldCause {
  return cause('InternalError', field, 'Internal error', detail);
}
