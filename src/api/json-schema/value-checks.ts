/** Checks of a single value: its type, its enumeration, texts and numbers. */
import { deepEqual } from '../../base/equal.ts';
import { quote } from '../../base/go-quote.ts';
import { stringifyJson } from '../codec/json.ts';
import { invalidValue, notSupported, tooLong, typeInvalid } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import type { FieldCause } from '../status-error.ts';
import { hasFormat, isKnownFormat } from './formats.ts';
import { patternOf } from './patterns.ts';

export interface ValuePosition {
  /** `spec.items[0].name`; empty at the root. */
  readonly path: string;
  readonly value: unknown;
  /** The old value, or {@link nothing}. */
  readonly old: unknown;
}

/** The field path of an error; upstream's path of the root is nil. */
export function fieldOf(path: string): string {
  return path === '' ? '<nil>' : path.replace(/^\./, '');
}

function complain(errors: FieldCause[], { path, value }: ValuePosition, text: string): void {
  errors.push(invalidValue(fieldOf(path), value ?? '', `${path} in body ${text}`));
}

export function checkText(schema: JSONSchemaProps, place: ValuePosition, errors: FieldCause[]): void {
  const { value } = place;
  if (typeof value === 'string') checkString(schema, { ...place, value }, errors);
  else if (typeof value === 'number' || typeof value === 'bigint') checkNumber(schema, { ...place, value }, errors);
}

const NO_TYPES: readonly string[] = [];
const INT_OR_STRING: readonly string[] = ['integer', 'string'];
const ONE_TYPE = new Map(
  ['array', 'boolean', 'integer', 'number', 'object', 'string'].map((type) => [type, [type]] as const),
);

function typesOf(schema: JSONSchemaProps): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return INT_OR_STRING;
  const { type = '' } = schema;
  return type === '' ? NO_TYPES : (ONE_TYPE.get(type) ?? [type]);
}

function jsonType(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** The format that values are checked for; empty when there is none that the schema's type has. */
export function formatOf(schema: JSONSchemaProps): string {
  const { format = '' } = schema;
  if (format === '') return '';
  const types = typesOf(schema);
  return isKnownFormat(types.length === 1 ? types[0]! : '', format) ? format : '';
}

/** What upstream calls the format of a value in errors. */
function shownFormat(actual: string): string {
  if (actual === 'integer') return 'int64';
  return actual === 'number' ? 'float64' : '';
}

/** Whether a schema restricts the type of values. */
export function checksType(schema: JSONSchemaProps): boolean {
  return typesOf(schema).length > 0 || formatOf(schema) !== '';
}

/** False, with an error, for a value of another type. A format decides before the type, but for texts and lists. */
export function checkType(schema: JSONSchemaProps, { path, value }: ValuePosition, errors: FieldCause[]): boolean {
  const types = typesOf(schema);
  const actual = jsonType(value);
  if (types.includes(actual) || (actual === 'integer' && types.includes('number'))) return true;
  if (actual === 'null') {
    if (types.length === 0 || schema.nullable === true) return true;
  } else {
    const format = formatOf(schema);
    if (types.length === 0 && format === '') return true;
    const isNumeric = types.includes('integer') || types.includes('number');
    if (format !== '' && actual !== 'string' && actual !== 'array') {
      const shown = shownFormat(actual);
      errors.push(typeInvalid(fieldOf(path), shown, `${path} in body must be of type ${format}: ${quote(shown)}`));
      return false;
    }
    if (format !== '' && !isNumeric) return true;
  }
  const text = `${path} in body must be of type ${types.join(',')}: ${quote(actual)}`;
  errors.push(typeInvalid(fieldOf(path), actual, text));
  return false;
}

export function checkEnum(schema: JSONSchemaProps, { path, value }: ValuePosition, errors: FieldCause[]): void {
  const { enum: allowed } = schema;
  if (allowed === undefined || allowed.length === 0) return;
  const { simple, others, shown } = enumerationOf(allowed);
  if (simple.has(value) || others.some((one) => deepEqual(one, value))) return;
  errors.push(notSupported(fieldOf(path), value, shown));
}

interface Enumeration {
  readonly simple: ReadonlySet<unknown>;
  /** The objects and lists of an enumeration. */
  readonly others: readonly unknown[];
  readonly shown: readonly string[];
}

const enumerations = new WeakMap<readonly unknown[], Enumeration>();

function enumerationOf(allowed: readonly unknown[]): Enumeration {
  let cached = enumerations.get(allowed);
  if (cached !== undefined) return cached;
  const others = allowed.filter((one) => typeof one === 'object' && one !== null);
  const shown = allowed.map((one) => (typeof one === 'string' ? one : stringifyJson(one)));
  cached = { simple: new Set(allowed), others, shown };
  enumerations.set(allowed, cached);
  return cached;
}

/** The first of length and pattern that does not fit, and the format. */
function checkString(schema: JSONSchemaProps, place: ValuePosition & { value: string }, errors: FieldCause[]): void {
  const { path, value } = place;
  checkLengthAndPattern(schema, place, errors);
  const format = formatOf(schema);
  if (format !== '' && hasFormat(format, value) === false)
    errors.push(typeInvalid(fieldOf(path), value, `${path} in body must be of type ${format}: ${quote(value)}`));
}

function checkLengthAndPattern(
  schema: JSONSchemaProps,
  place: ValuePosition & { value: string },
  errors: FieldCause[],
): void {
  const { path, value } = place;
  const { maxLength, minLength, pattern = '' } = schema;
  const length = maxLength === undefined && minLength === undefined ? 0 : [...value].length;
  if (maxLength !== undefined && length > maxLength) errors.push(tooLong(fieldOf(path), maxLength));
  else if (minLength !== undefined && length < minLength)
    complain(errors, place, `should be at least ${minLength} chars long`);
  else if (pattern !== '') {
    const compiled = patternOf(pattern);
    if ('error' in compiled)
      complain(errors, place, `should match '${pattern}, but pattern is invalid: ${compiled.error}'`);
    else if (value.length > compiled.longest)
      complain(errors, place, `has more than ${compiled.longest} characters, too many to be matched with '${pattern}'`);
    else if (!compiled.test(value)) complain(errors, place, `should match '${pattern}'`);
  }
}

const INTEGERS: Readonly<Record<string, readonly [number | bigint, number | bigint]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

type Numeric = number | bigint;

/** Whether a number fits type and format: integers are whole and within their range, floats within 32 bits. */
function fitsRange(value: Numeric, type: string, format: string): boolean {
  if (type === 'integer') {
    const [low, high] = INTEGERS[format] ?? INTEGERS['int64']!;
    return (typeof value === 'bigint' || Number.isInteger(value)) && value >= low && value <= high;
  }
  return type !== 'number' || format !== 'float' || Number.isFinite(Math.fround(Number(value)));
}

function checkNumber(schema: JSONSchemaProps, place: ValuePosition & { value: Numeric }, errors: FieldCause[]): void {
  const { path, value } = place;
  const { maximum, minimum, multipleOf, exclusiveMaximum = false, exclusiveMinimum = false } = schema;
  const [type = '', ...others] = typesOf(schema);
  const alone = others.length === 0 && (type === 'integer' || type === 'number') ? type : '';
  const format = alone === '' ? '' : formatOf(schema);
  // Bounds that do not fit the type are reported with each value.
  const checkRange = (number: Numeric, what: string): void => {
    if (fitsRange(number, alone, format)) return;
    const how = format === '' ? '(default format)' : `with format ${format}`;
    errors.push(invalidValue('<nil>', '', `${what} value must be of type ${alone} ${how} in ${path}`));
  };
  checkRange(value, 'Checked');
  if (multipleOf !== undefined) {
    checkRange(multipleOf, 'MultipleOf');
    if (!isMultiple(value, multipleOf)) complain(errors, place, `should be a multiple of ${multipleOf}`);
  }
  if (minimum !== undefined) {
    checkRange(minimum, 'Minimum boundary');
    if (exclusiveMinimum ? value <= minimum : value < minimum)
      complain(errors, place, `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`);
  }
  if (maximum !== undefined) {
    checkRange(maximum, 'Maximum boundary');
    if (exclusiveMaximum ? value >= maximum : value > maximum)
      complain(errors, place, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`);
  }
}

function isMultiple(value: number | bigint, factor: number): boolean {
  if (factor === 0) return true;
  if (typeof value === 'bigint') return Number.isInteger(factor) && value % BigInt(factor) === 0n;
  const times = factor < 1 ? (1 / factor) * value : value / factor;
  return Number.isInteger(times) || Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}
