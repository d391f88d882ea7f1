// The identity of list items: by keys, or by value. Upstream: listItemToPathElement in structured-merge-diff/typed.

import { isObject } from '../codec/own-property.ts';
import { stringifyJson } from '../codec/json.ts';
import type { ListSchema } from '../schema/type-schema.ts';
import { formatFieldPath } from './field-set.ts';

/** The error of a list that cannot be merged: an item lacks its key, or two items share one. */
export class ListKeyError extends Error {
  override readonly name = 'ListKeyError';
  /** The path of the list, such as `.spec.containers`; completed while the error passes the enclosing fields. */
  path = '';
}

/** Runs `body` for a field and prepends the field's name to the path of a ListKeyError that it throws. */
export function inField<T>(name: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (error instanceof ListKeyError) error.path = `.${name}${error.path}`;
    throw error;
  }
}

/** The path element of a list's item. Absent keys have their default; throws {@link ListKeyError} without one. */
export function itemElement(list: ListSchema, item: unknown): string {
  if (list.listType === 'set') return `v:${stringifyJson(item)}`;
  if (!isObject(item)) throw new ListKeyError('associative list with keys may not have non-map elements');
  const [only] = list.keys;
  // The usual list has one key, whose value is a text.
  const text = only !== undefined && list.keys.length === 1 && Object.hasOwn(item, only) ? item[only] : undefined;
  if (typeof text === 'string') return `k:{${JSON.stringify(only)}:${JSON.stringify(text)}}`;
  let keys = '';
  for (const { key, quoted, fallback } of keyPlansOf(list)) {
    const value = Object.hasOwn(item, key) ? item[key] : fallback;
    if (value !== undefined) keys += `${keys === '' ? '' : ','}${quoted}:${stringifyJson(value)}`;
  }
  if (keys === '') {
    const [first = ''] = list.keys;
    throw new ListKeyError(
      `associative list with keys has an element that omits key field ${JSON.stringify(first)} (and doesn't have default value)`,
    );
  }
  return `k:{${keys}}`;
}

/** A key of a list: its name as JSON, and the value for items without it. */
interface KeyPlan {
  readonly key: string;
  readonly quoted: string;
  readonly fallback: unknown;
}

const keyPlans = new WeakMap<ListSchema, readonly KeyPlan[]>();

/** Keys sorted by name. The result is cached, because lists have thousands of items. */
function keyPlansOf(list: ListSchema): readonly KeyPlan[] {
  let plans = keyPlans.get(list);
  if (plans === undefined) {
    plans = [...list.keys].sort().map((key) => ({ key, quoted: JSON.stringify(key), fallback: defaultOf(list, key) }));
    keyPlans.set(list, plans);
  }
  return plans;
}

/** In built-in kinds, keys that Go always writes default to their zero value. */
function defaultOf(list: ListSchema, key: string): unknown {
  const field = list.items.kind === 'struct' ? list.items.fields.get(key) : undefined;
  if (field === undefined || field.default !== undefined) return field?.default;
  const { type, pb, pointer, omitempty } = field;
  if (type.kind !== 'scalar' || pb.length === 0 || pointer || omitempty) return undefined;
  if (type.scalar === 'string') return '';
  return type.scalar === 'int32' || type.scalar === 'int64' ? 0 : undefined;
}

/** The items of a list by path element, in order. Several items may share an element only when `lenient` is set. */
export function itemsByElement(list: ListSchema, items: readonly unknown[], lenient: boolean): Map<string, unknown[]> {
  const out = new Map<string, unknown[]>();
  for (const item of items) {
    const element = itemElement(list, item);
    const have = out.get(element);
    if (have === undefined) out.set(element, [item]);
    else if (lenient) have.push(item);
    else throw new ListKeyError(`duplicate entries for key ${formatFieldPath([element])}`);
  }
  return out;
}
