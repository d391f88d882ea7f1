/**
 * Field errors with upstream's texts: functions that create one error, and `Field`, a place in an object that collects errors.
 * Upstream: apimachinery/pkg/util/validation/field.
 */
import { type Int64 } from './int64.ts';
import { quote } from '../base/go-quote.ts';
import { startOfJson } from './codec/json.ts';
import type { FieldCause } from './status-error.ts';

/** Further errors are not added: each of a hundred thousand items could have several. Upstream lists them all. */
export const MAX_FIELD_ERRORS = 1000;

/** Longer values and keys are truncated, because thousands of errors may quote the same one. Upstream quotes them whole. */
const SHOWN_LENGTH = 8192;

function shortened(text: string): string {
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}...`;
}

/** The errors of a validation, in order. */
export type FieldErrors = FieldCause[];

/** A value as upstream quotes it: a quoted text, a bare number or boolean, JSON for all others. */
export function renderValue(value: unknown): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return quote(shortened(value));
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  return shortened(startOfJson(value, SHOWN_LENGTH + 1));
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

/** `Unsupported value: "x": supported values: "A", "B"`, in the order of the list. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldCause {
  const detail = supported.length === 0 ? '' : supportedText(supported);
  return cause('FieldValueNotSupported', field, [`Unsupported value: ${renderValue(value)}`, detail]);
}

const supportedTexts = new WeakMap<readonly string[], string>();

/** Computed once for each list: a thousand errors may quote the same five thousand values. */
function supportedText(supported: readonly string[]): string {
  let text = supportedTexts.get(supported);
  if (text === undefined)
    supportedTexts.set(supported, (text = `supported values: ${supported.map(quote).join(', ')}`));
  return text;
}

/** `Duplicate value: "x"`. */
export function duplicate(field: string, value: unknown, detail = ''): FieldCause {
  return cause('FieldValueDuplicate', field, [`Duplicate value: ${renderValue(value)}`, detail]);
}

/** `Forbidden: detail`. */
export function forbiddenField(field: string, detail: string): FieldCause {
  return cause('FieldValueForbidden', field, ['Forbidden', detail]);
}

/** `Not found: "x"`. */
function notFoundField(field: string, value: unknown, detail = ''): FieldCause {
  return cause('FieldValueNotFound', field, [`Not found: ${renderValue(value)}`, detail]);
}

/** `Too long: may not be more than 63 bytes`. */
export function tooLong(field: string, maxBytes: Int64): FieldCause {
  return cause('FieldValueTooLong', field, ['Too long', `may not be more than ${maxBytes} bytes`]);
}

/** `Too many: 5: must have at most 3 items`. */
export function tooMany(field: string, actual: number, max: Int64): FieldCause {
  const items = max === 1 ? 'item' : 'items';
  return cause('FieldValueTooMany', field, [`Too many: ${actual}`, `must have at most ${max} ${items}`]);
}

/**
 * A place in an object under validation. Children share the list of errors. The path's text (`spec.containers[0].name`) is
 * computed only for an error.
 */
export class Field {
  readonly errors: FieldErrors;
  readonly #parent: Field | undefined;
  /** A number is the index in a list. */
  readonly #segment: string | number;
  /** The name of the field or key; undefined for an item of a list. */
  readonly #name: string | undefined;
  /** Values at places of the old object, shared with children. */
  readonly #earlier: Map<string, ReadonlySet<unknown>> | undefined;

  // oxlint-disable-next-line max-params -- hundreds are made for each object
  private constructor(
    errors: FieldErrors,
    segment: string | number,
    parent?: Field,
    name?: string,
    earlier = parent === undefined ? undefined : parent.#earlier,
  ) {
    this.errors = errors;
    this.#segment = segment;
    this.#parent = parent;
    this.#name = name;
    this.#earlier = earlier;
  }

  /** The root of an object, with an empty list of errors. `old` is the object before an update. */
  static root(old?: object): Field {
    const earlier = old === undefined ? undefined : new Map([['', new Set<unknown>([old])]]);
    return new Field([], '', undefined, undefined, earlier);
  }

  /** A place with a separate path, for errors that upstream reports relative to a part of the object. */
  static named(path: string, errors: FieldErrors = []): Field {
    return new Field(errors, path);
  }

  get path(): string {
    const before = this.#parent === undefined ? '' : this.#parent.path;
    const whole = typeof this.#segment === 'number' ? `[${this.#segment}]` : this.#segment;
    if (before === '') return whole;
    const segment = shortened(whole);
    return segment.startsWith('[') ? before + segment : `${before}.${segment}`;
  }

  /** The place of a field of this object. */
  at(name: string): Field {
    return new Field(this.errors, name, this, name);
  }

  /** The place of an item of this list. */
  item(index: number): Field {
    return new Field(this.errors, index, this);
  }
  /** The place of an entry of this map. */
  key(key: string): Field {
    return new Field(this.errors, `[${key}]`, this, key);
  }

  /** Whether the old object had this text at this field. The index of a list's item is ignored. */
  wasThere(text: string): boolean {
    return this.#earlier !== undefined && this.#before(this.#earlier).has(text);
  }

  /** The path without the indexes of lists. */
  get #place(): string {
    return this.#parent === undefined ? '' : `${this.#parent.#place}\n${this.#name ?? ''}`;
  }

  /** Collected once for each place, because validation asks for each item of a list of thousands. */
  #before(earlier: Map<string, ReadonlySet<unknown>>): ReadonlySet<unknown> {
    const place = this.#place;
    let values = earlier.get(place);
    if (values === undefined) {
      const around = this.#parent === undefined ? [] : this.#parent.#before(earlier);
      earlier.set(place, (values = new Set([...around].flatMap((value) => this.#within(value)))));
    }
    return values;
  }

  #within(value: unknown): readonly unknown[] {
    if (Array.isArray(value)) return value as unknown[];
    const name = this.#name;
    if (value === null || typeof value !== 'object' || name === undefined || !Object.hasOwn(value, name)) return [];
    return [(value as Record<string, unknown>)[name]];
  }

  /** False when the limit of errors is reached. */
  #isOpen(): boolean {
    return this.errors.length < MAX_FIELD_ERRORS;
  }

  required(detail = ''): void {
    if (this.#isOpen()) this.errors.push(required(this.path, detail));
  }
  invalid(value: unknown, detail: string): void {
    if (this.#isOpen()) this.errors.push(invalidValue(this.path, value, detail));
  }
  /** `Invalid value: detail`, without the value. */
  invalidWhole(detail: string): void {
    if (this.#isOpen())
      this.errors.push({ reason: 'FieldValueInvalid', field: this.path, text: `Invalid value: ${detail}` });
  }
  /** Adds an `Invalid value` error for each text. */
  complain(value: unknown, complaints: readonly string[]): void {
    for (const complaint of complaints) this.invalid(value, complaint);
  }
  notSupported(value: unknown, supported: readonly string[]): void {
    if (this.#isOpen()) this.errors.push(notSupported(this.path, value, supported));
  }
  duplicate(value: unknown, detail = ''): void {
    if (this.#isOpen()) this.errors.push(duplicate(this.path, value, detail));
  }
  forbidden(detail: string): void {
    if (this.#isOpen()) this.errors.push(forbiddenField(this.path, detail));
  }
  notFound(value: unknown, detail = ''): void {
    if (this.#isOpen()) this.errors.push(notFoundField(this.path, value, detail));
  }
  tooLong(maxBytes: number): void {
    if (this.#isOpen()) this.errors.push(tooLong(this.path, maxBytes));
  }
  tooMany(actual: number, max: number): void {
    if (this.#isOpen()) this.errors.push(tooMany(this.path, actual, max));
  }
}
