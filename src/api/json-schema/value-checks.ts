/** The checks of one value by itself: its type, its enumeration, texts and numbers. */
import { deepEqual } from '../../base/equal.ts';
import { stringifyJson } from '../codec/json.ts';
import { invalidValue, notSupported, tooLong, typeInvalid } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import type { FieldCause } from '../status-error.ts';
import { hasFormat } from './formats.ts';
import { patternOf } from './patterns.ts';

export interface Place {
  /** `spec.items[0].name`; empty at the root. */
  readonly path: string;
  readonly value: unknown;
  /** What it replaces, or {@link nothing}. */
  readonly old: unknown;
}

/** Field path of an error about a place: upstream's path of the root is nil. */
export function fieldOf(path: string): string {
  return path === '' ? '<nil>' : path.replace(/^\./, '');
}

function complain(errors: FieldCause[], { path, value }: Place, text: string): void {
  errors.push(invalidValue(fieldOf(path), value ?? '', `${path} in body ${text}`));
}

export function checkText(schema: JSONSchemaProps, place: Place, errors: FieldCause[]): void {
  const { value } = place;
  if (typeof value === 'string') checkString(schema, { ...place, value }, errors);
  else if (typeof value === 'number' || typeof value === 'bigint') checkNumber(schema, { ...place, value }, errors);
}

function typesOf(schema: JSONSchemaProps): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return schema.type === undefined || schema.type === '' ? [] : [schema.type];
}

function jsonType(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

export function checkType(schema: JSONSchemaProps, { path, value }: Place, errors: FieldCause[]): void {
  const types = typesOf(schema);
  const actual = jsonType(value);
  if (types.length === 0 || types.includes(actual)) return;
  if (actual === 'null' && schema.nullable === true) return;
  if (actual === 'integer' && types.includes('number')) return;
  const text = `${path} in body must be of type ${types.join(',')}: ${JSON.stringify(actual)}`;
  errors.push(typeInvalid(fieldOf(path), actual, text));
}

export function checkEnum(schema: JSONSchemaProps, { path, value }: Place, errors: FieldCause[]): void {
  const { enum: allowed } = schema;
  if (allowed === undefined || allowed.length === 0) return;
  const { simple, others, shown } = enumerationOf(allowed);
  if (simple.has(value) || others.some((one) => deepEqual(one, value))) return;
  errors.push(notSupported(fieldOf(path), value, shown));
}

interface Enumeration {
  readonly simple: ReadonlySet<unknown>;
  /** Objects and lists. */
  readonly others: readonly unknown[];
  readonly shown: readonly string[];
}

const enumerations = new WeakMap<readonly unknown[], Enumeration>();

function enumerationOf(allowed: readonly unknown[]): Enumeration {
  let known = enumerations.get(allowed);
  if (known !== undefined) return known;
  const others = allowed.filter((one) => typeof one === 'object' && one !== null);
  const shown = allowed.map((one) => (typeof one === 'string' ? one : stringifyJson(one)));
  known = { simple: new Set(allowed), others, shown };
  enumerations.set(allowed, known);
  return known;
}

function checkString(schema: JSONSchemaProps, place: Place & { value: string }, errors: FieldCause[]): void {
  const { path, value } = place;
  const { maxLength, minLength, pattern = '', format = '' } = schema;
  const length = maxLength === undefined && minLength === undefined ? 0 : [...value].length;
  if (maxLength !== undefined && length > maxLength) errors.push(tooLong(fieldOf(path), maxLength));
  if (minLength !== undefined && length < minLength)
    complain(errors, place, `should be at least ${minLength} chars long`);
  if (pattern !== '') {
    const compiled = patternOf(pattern);
    if ('error' in compiled)
      complain(errors, place, `should match '${pattern}, but pattern is invalid: ${compiled.error}'`);
    else if (value.length > compiled.longest)
      complain(errors, place, `has more than ${compiled.longest} characters, too many to be matched with '${pattern}'`);
    else if (!compiled.test(value)) complain(errors, place, `should match '${pattern}'`);
  }
  if (format !== '' && hasFormat(format, value) === false)
    errors.push(
      typeInvalid(fieldOf(path), value, `${path} in body must be of type ${format}: ${stringifyJson(value)}`),
    );
}

const RANGES: Readonly<Record<string, readonly [number | bigint, number | bigint]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  uint64: [0n, 2n ** 64n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

function checkNumber(schema: JSONSchemaProps, place: Place & { value: number | bigint }, errors: FieldCause[]): void {
  const { path, value } = place;
  const { maximum, minimum, multipleOf, exclusiveMaximum = false, exclusiveMinimum = false, format = '' } = schema;
  if (schema.type === 'integer') {
    const [low, high] = RANGES[format] ?? RANGES['int64']!;
    const how = format === '' ? '(default format)' : `with format ${format}`;
    if (value < low || value > high)
      errors.push(invalidValue('<nil>', '', `Checked value must be of type integer ${how} in ${path}`));
  }
  if (multipleOf !== undefined && !isMultiple(value, multipleOf))
    complain(errors, place, `should be a multiple of ${multipleOf}`);
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum))
    complain(errors, place, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`);
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum))
    complain(errors, place, `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`);
}

function isMultiple(value: number | bigint, factor: number): boolean {
  if (factor === 0) return true;
  if (typeof value === 'bigint') return Number.isInteger(factor) && value % BigInt(factor) === 0n;
  const times = factor < 1 ? (1 / factor) * value : value / factor;
  return Number.isInteger(times) || Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}
