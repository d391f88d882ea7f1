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
