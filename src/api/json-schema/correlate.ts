/** Finds the old item that corresponds to an item of an updated list: by keys in lists of type map, by value in other lists. */
import { deepEqual } from '../../base/equal.ts';
import { stableStringify } from '../../base/stable-json.ts';
import { allSteps, StepMeter, type Steps } from '../../base/steps.ts';
import { isObject } from '../codec/own-property.ts';
import { isLargeValue } from '../codec/parts.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';

/** Whether two items of a map list have the same keys. An absent key counts as its default. */
function sameKeys(schema: JSONSchemaProps, a: unknown, b: unknown): boolean {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  return (
    isObject(a) && isObject(b) && keys.every((key) => deepEqual(keyValue(schema, a, key), keyValue(schema, b, key)))
  );
}

/** The value of one key of an item in a map list. */
export function keyValue(schema: JSONSchemaProps, item: Record<string, unknown>, key: string): unknown {
  if (Object.hasOwn(item, key)) return item[key];
  const { items } = schema;
  const properties = (Array.isArray(items) ? undefined : items?.properties) ?? {};
  return Object.hasOwn(properties, key) ? properties[key]!.default : undefined;
}

/** Shorter lists of small items are searched linearly, which costs less than an index. */
const INDEXED_FROM = 32;
const SEARCHED_BYTES = 16 * 1024;
/** A step ends after comparing items with this much text, a few milliseconds. */
export const CHARS_OF_STEP = 64 * 1024;

/** For each old list, its items by identity. */
const indexes = new WeakMap<readonly unknown[], ReadonlyMap<string, unknown>>();

/** Builds, in steps, the index of an old list that {@link correlatedItem} uses. */
export function* correlationSteps(schema: JSONSchemaProps, old: unknown): Steps<void> {
  if (Array.isArray(old) && isIndexed(old) && !indexes.has(old)) indexes.set(old, yield* indexOf(schema, old));
}

/**
 * The item of `old` that corresponds to `item`; undefined when there is none. `onWork` is called with the text that was compared.
 */
export function correlatedItem(
  schema: JSONSchemaProps,
  old: unknown,
  item: unknown,
  onWork?: (chars: number) => void,
): unknown {
  if (!Array.isArray(old)) return undefined;
  const items = old as readonly unknown[];
  let index = indexes.get(items);
  if (index === undefined && !isIndexed(items)) {
    const isMap = schema['x-kubernetes-list-type'] === 'map';
    return items.find((other) => (isMap ? sameKeys(schema, other, item) : deepEqual(other, item)));
  }
  if (index === undefined) indexes.set(items, (index = allSteps(indexOf(schema, items))));
  const identity = identityOf(schema, item);
  if (identity === undefined) return undefined;
  onWork?.(identity.length);
  return index.get(identity);
}

function isIndexed(items: readonly unknown[]): boolean {
  return items.length >= INDEXED_FROM || (items.length > 1 && isLargeValue(items, SEARCHED_BYTES));
}

function* indexOf(schema: JSONSchemaProps, items: readonly unknown[]): Steps<Map<string, unknown>> {
  const index = new Map<string, unknown>();
  const meter = new StepMeter(CHARS_OF_STEP);
  for (const item of items) {
    const identity = identityOf(schema, item);
    if (identity === undefined) continue;
    if (!index.has(identity)) index.set(identity, item);
    if (meter.endsStep(identity.length)) yield;
  }
  return index;
}

/** A text that is equal for corresponding items. */
function identityOf(schema: JSONSchemaProps, item: unknown): string | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map') return stableStringify(item);
  if (!isObject(item)) return undefined;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  return stableStringify(Object.fromEntries(keys.map((key) => [key, keyValue(schema, item, key)])));
}
