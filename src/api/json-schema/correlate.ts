/** Which item of an earlier list a list item goes on from: by the keys of map lists; items of other lists by value alone. */
import { deepEqual } from '../../base/equal.ts';
import { sortKeys } from '../../base/stable-json.ts';
import { stringifyJson } from '../codec/json.ts';
import { isObject } from '../codec/own-property.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';

/** Whether two items of a map list have the same keys; a key that is absent counts as its default. */
function sameKeys(schema: JSONSchemaProps, a: unknown, b: unknown): boolean {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  return (
    isObject(a) && isObject(b) && keys.every((key) => deepEqual(keyValue(schema, a, key), keyValue(schema, b, key)))
  );
}

/** The value of a key of an item of a map list. */
export function keyValue(schema: JSONSchemaProps, item: Record<string, unknown>, key: string): unknown {
  if (Object.hasOwn(item, key)) return item[key];
  const { items } = schema;
  const properties = (Array.isArray(items) ? undefined : items?.properties) ?? {};
  return Object.hasOwn(properties, key) ? properties[key]!.default : undefined;
}

/** Shorter lists are searched, which costs less than an index. */
const INDEXED_FROM = 32;

/** The items of old lists by what makes two items the same. */
const indexes = new WeakMap<readonly unknown[], ReadonlyMap<string, unknown>>();

/** The item of `old` that `item` replaces; undefined when there is none. */
export function correlatedItem(schema: JSONSchemaProps, old: unknown, item: unknown): unknown {
  if (!Array.isArray(old)) return undefined;
  const isMap = schema['x-kubernetes-list-type'] === 'map';
  const items = old as readonly unknown[];
  if (items.length < INDEXED_FROM)
    return items.find((other) => (isMap ? sameKeys(schema, other, item) : deepEqual(other, item)));
  let index = indexes.get(items);
  if (index === undefined) indexes.set(items, (index = indexOf(schema, items)));
  const identity = identityOf(schema, item);
  return identity === undefined ? undefined : index.get(identity);
}

function indexOf(schema: JSONSchemaProps, items: readonly unknown[]): Map<string, unknown> {
  const index = new Map<string, unknown>();
  for (const item of items) {
    const identity = identityOf(schema, item);
    if (identity !== undefined && !index.has(identity)) index.set(identity, item);
  }
  return index;
}

/** Equal texts for items that are the same. */
function identityOf(schema: JSONSchemaProps, item: unknown): string | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map') return stringifyJson(sortKeys(item));
  if (!isObject(item)) return undefined;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  return stringifyJson(sortKeys(Object.fromEntries(keys.map((key) => [key, keyValue(schema, item, key)]))));
}
