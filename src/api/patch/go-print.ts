// How Go prints a JSON value with %v: upstream's patch errors quote values so.

import { isObject } from '../codec/own-property.ts';

/** `map[a:1 b:[x y]]`, keys sorted. */
export function goPrint(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goPrint).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${goPrint(value[key])}`).join(' ')}]`;
}

/** The type of a JSON value, as upstream's patches print it (`reflect.TypeOf` with %s). */
export function goTypeName(value: unknown): string {
  if (value === null || value === undefined) return '%!s(<nil>)';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  if (typeof value === 'bigint') return 'int64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}
