// Elements of the lists that strategic merge patches merge: their Go types and their merge keys.

import { stringifyJson } from '../codec/json.ts';
import { isObject } from '../codec/own-property.ts';
import { goPrint, goTypeName } from '../codec/go-print.ts';
import { PatchError } from './patch-error.ts';

/** A text of a key; values of different types have different texts. */
export const keyText = (value: unknown): string =>
  typeof value === 'object' ? stringifyJson(value) : `${typeof value} ${String(value)}`;

/** The error of a list element that lacks the list's merge key. */
export function withoutMergeKey(item: unknown, mergeKey: string): PatchError {
  return new PatchError(500, `map: ${goPrint(item)} does not contain declared merge key: ${mergeKey}`);
}

/** The merge key of an element. Throws for an element without one. */
export function keyIn(item: unknown, mergeKey: string): unknown {
  if (!isObject(item))
    throw new PatchError(500, `expected a map[string]interface {}, but received a ${goTypeName(item)}`);
  if (!Object.hasOwn(item, mergeKey)) throw withoutMergeKey(item, mergeKey);
  return item[mergeKey];
}

/** Throws for an element without the merge key. */
export function checkKeys(items: readonly unknown[], mergeKey: string): void {
  for (const item of items) keyIn(item, mergeKey);
}

/** The Go type of an element; undefined for null. */
function goType(value: unknown): string | undefined {
  if (value === null) return undefined;
  if (typeof value === 'object') return Array.isArray(value) ? 'slice' : 'map';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'bigint' ? 'int64' : typeof value;
}

/** The common type of all elements. Throws when they have several types, or are lists, or when there is none. */
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
