/** Which item of an earlier list a list item goes on from: by the keys of map lists; items of other lists by value alone. */
import { deepEqual } from '../../base/equal.ts';
import { isObject } from '../codec/own-property.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';

/** Whether two items of a map list have the same keys; a key that is absent counts as its default. */
export function sameKeys(schema: JSONSchemaProps, a: unknown, b: unknown): boolean {
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

/** The item of `old` that `item` replaces; undefined when there is none. */
export function correlatedItem(schema: JSONSchemaProps, old: unknown, item: unknown): unknown {
  if (!Array.isArray(old)) return undefined;
  const isMap = schema['x-kubernetes-list-type'] === 'map';
  return (old as unknown[]).find((other) => (isMap ? sameKeys(schema, other, item) : deepEqual(other, item)));
}
