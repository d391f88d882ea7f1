/**
 * Field errors with upstream's texts: builders for one error, and `Field`, a place in an object that collects them.
 * Upstream: apimachinery/pkg/util/validation/field.
 */
import { stringifyJson } from './codec/json.ts';
import type { FieldCause } from './status-error.ts';

/** Collects what a validation finds wrong, in order. */
export type FieldErrors = FieldCause[];

/** How upstream shows a value: quoted text, bare number or boolean, JSON for the rest. */
export function renderValue(value: unknown): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  return stringifyJson(value);
}

const CONTROL: Readonly<Record<string, string>> = { '07': '\\a', '0b': '\\v' };

/** A text in double quotes, escaped as Go's %q. */
export function quote(text: string): string {
  // JSON differs from Go only in control characters it writes as \u00XX where Go has \x or \a, \v.
  return JSON.stringify(text).replace(/\\u00([01][0-9a-f])/g, (_, hex: string) => CONTROL[hex] ?? `\\x${hex}`);
}

function cause(reason: string, field: string, [head, detail]: readonly [string, string]): FieldCause {
  return { reason, field, text: detail === '' ? head : `${head}: ${detail}` };
}

/** `Required value: detail`. */
export function required(field: string, detail = ''): FieldCause {
  return cause('FieldValueRequired', field, ['Required value', detail]);
}

/** `Invalid value: "x": detail`. */
export function invalidValue(field: string, value: unknown, detail: string): FieldCause {
  return cause('FieldValueInvalid', field, [`Invalid value: ${renderValue(value)}`, detail]);
}

/** `Invalid value: "x": detail`, for a value of the wrong type. */
export function typeInvalid(field: string, value: unknown, detail: string): FieldCause {
  return cause('FieldValueTypeInvalid', field, [`Invalid value: ${renderValue(value)}`, detail]);
}

/** `Unsupported value: "x": supported values: "A", "B"`. Values are shown in the order given. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldCause {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map(quote).join(', ')}`;
  return cause('FieldValueNotSupported', field, [`Unsupported value: ${renderValue(value)}`, detail]);
}

/** `Duplicate value: "x"`. */
export function duplicate(field: string, value: unknown): FieldCause {
  return cause('FieldValueDuplicate', field, [`Duplicate value: ${renderValue(value)}`, '']);
}

/** `Forbidden: detail`. */
export function forbiddenField(field: string, detail: string): FieldCause {
  return cause('FieldValueForbidden', field, ['Forbidden', detail]);
}

/** `Not found: "x"`. */
export function notFoundField(field: string, value: unknown): FieldCause {
  return cause('FieldValueNotFound', field, [`Not found: ${renderValue(value)}`, '']);
}

/** `Too long: may not be more than 63 bytes`. */
export function tooLong(field: string, maxBytes: number): FieldCause {
  return cause('FieldValueTooLong', field, ['Too long', `may not be more than ${maxBytes} bytes`]);
}

/** `Too many: 5: must have at most 3 items`. */
export function tooMany(field: string, actual: number, max: number): FieldCause {
  const items = max === 1 ? 'item' : 'items';
  return cause('FieldValueTooMany', field, [`Too many: ${actual}`, `must have at most ${max} ${items}`]);
}

/**
 * A place in an object under validation. Children share the list of errors; the path's text (`spec.containers[0].name`)
 * is only made when something is wrong.
 */
export class Field {
  readonly errors: FieldErrors;
  readonly #parent: Field | undefined;
  readonly #segment: string;
  /** Of the root: the object as it was. */
  #old: object | undefined;

  private constructor(errors: FieldErrors, segment: string, parent?: Field) {
    this.errors = errors;
    this.#segment = segment;
    this.#parent = parent;
  }

  /** The object itself, with an empty list of errors. `old`: what it was before an update. */
  static root(old?: object): Field {
    const field = new Field([], '');
    field.#old = old;
    return field;
  }

  /** The place with a path of its own, for errors that upstream reports relative to a part. */
  static named(path: string, errors: FieldErrors = []): Field {
    return new Field(errors, path);
  }

  get path(): string {
    const before = this.#parent === undefined ? '' : this.#parent.path;
    if (before === '') return this.#segment;
    return this.#segment.startsWith('[') ? before + this.#segment : `${before}.${this.#segment}`;
  }

  /** A field of this object. */
  at(name: string): Field {
    return new Field(this.errors, name, this);
  }
  /** An item of this list. */
  item(index: number): Field {
    return new Field(this.errors, `[${index}]`, this);
  }
  /** An entry of this map. */
  key(key: string): Field {
    return new Field(this.errors, `[${key}]`, this);
  }

  /** Whether the object had this text in this field before the update; items of a list are alike. */
  wasThere(text: string): boolean {
    return this.#before().includes(text);
  }

  #before(): readonly unknown[] {
    if (this.#parent === undefined) return [this.#old];
    return this.#parent.#before().flatMap((value) => {
      if (Array.isArray(value)) return value as unknown[];
      if (value === null || typeof value !== 'object') return [];
      const name = this.#segment.replace(/^\[(.*)\]$/, '$1');
      return Object.hasOwn(value, name) ? [(value as Record<string, unknown>)[name]] : [];
    });
  }

  required(detail = ''): void {
    this.errors.push(required(this.path, detail));
  }
  invalid(value: unknown, detail: string): void {
    this.errors.push(invalidValue(this.path, value, detail));
  }
  /** One `Invalid value` per complaint. */
  complain(value: unknown, complaints: readonly string[]): void {
    for (const complaint of complaints) this.invalid(value, complaint);
  }
  notSupported(value: unknown, supported: readonly string[]): void {
    this.errors.push(notSupported(this.path, value, supported));
  }
  duplicate(value: unknown): void {
    this.errors.push(duplicate(this.path, value));
  }
  forbidden(detail: string): void {
    this.errors.push(forbiddenField(this.path, detail));
  }
  notFound(value: unknown): void {
    this.errors.push(notFoundField(this.path, value));
  }
  tooLong(maxBytes: number): void {
    this.errors.push(tooLong(this.path, maxBytes));
  }
  tooMany(actual: number, max: number): void {
    this.errors.push(tooMany(this.path, actual, max));
  }
}
