// Elements of the lists that strategic merge patches merge: their type in Go, and the key they are known by.

import { stringifyJson } from '../codec/json.ts';
import { isObject } from '../codec/own-property.ts';
import { goPrint, goTypeName } from './go-print.ts';
import { PatchError } from './patch-error.ts';

/** Values of different types are never the same key. */
export const keyText = (value: unknown): string =>
  typeof value === 'object' ? stringifyJson(value) : `${typeof value} ${String(value)}`;

/** A list's element without the key that its list merges by. */
export function withoutMergeKey(item: unknown, mergeKey: string): PatchError {
  return new PatchError(500, `map: ${goPrint(item)} does not contain declared merge key: ${mergeKey}`);
}

/** The key of an element. Throws for an element without one. */
export function keyIn(item: unknown, mergeKey: string): unknown {
  if (!isObject(item))
    throw new PatchError(500, `expected a map[string]interface {}, but received a ${goTypeName(item)}`);
  if (!Object.hasOwn(item, mergeKey)) throw withoutMergeKey(item, mergeKey);
  return item[mergeKey];
}

/** Throws for an element without the key. */
export function checkKeys(items: readonly unknown[], mergeKey: string): void {
  for (const item of items) keyIn(item, mergeKey);
}

/** The type that elements have in Go; undefined for null, which has none. */
function goType(value: unknown): string | undefined {
  if (value === null) return undefined;
  if (typeof value === 'object') return Array.isArray(value) ? 'slice' : 'map';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'bigint' ? 'int64' : typeof value;
}

/** The type of all elements. Throws when they have several, or are lists, or there is none. */
export function elementType(original: readonly unknown[], patch: readonly unknown[]): string {
  const types = new Set<string | undefined>();
  for (const item of original) types.add(goType(item));
  for (const item of patch) types.add(goType(item));
  const [first, ...others] = types;
  if (first === 'slice') throw new PatchError(422, 'lists of lists are not supported');
  if (others.length > 0)
    throw new PatchError(500, `list element types are not identical: ${goPrint([original, patch])}`);
  if (first === undefined) throw new PatchError(500, 'no elements in any of the given slices');
  return first;
}
