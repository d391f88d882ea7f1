// Merging an applied object into a live one, and removing paths from an object. Pure. Upstream: TypedValue.Merge and
// RemoveItems in structured-merge-diff.

import { isObject, setOwn, type JsonObject } from '../codec/own-property.ts';
import type { ListSchema, TypeSchema } from '../schema/type-schema.ts';
import { isMember, type FieldSet } from './field-set.ts';
import { childType, granularList, granularObject } from './field-shape.ts';
import { itemElement, itemsByElement } from './path-element.ts';

/** The live value with everything the applied one says. Throws a ListKeyError. */
export function mergeApplied(type: TypeSchema, live: unknown, applied: unknown): unknown {
  if (applied === undefined) return live;
  if (live === undefined || live === null || applied === null) return applied;
  const list = granularList(type);
  if (list !== undefined && Array.isArray(live) && Array.isArray(applied)) return mergeItems(list, live, applied);
  const shape = granularObject(type, live, applied);
  if (shape === undefined || !isObject(live) || !isObject(applied)) return applied;
  const out: JsonObject = { ...live };
  for (const key of Object.keys(applied)) {
    setOwn(out, key, mergeApplied(childType(shape, key), Object.hasOwn(live, key) ? live[key] : undefined, applied[key]));
  }
  return out;
}

/** Applied items keep their order; items only the live list has stay where they stood between the shared ones. */
function mergeItems(list: ListSchema, live: readonly unknown[], applied: readonly unknown[]): unknown[] {
  const wanted = itemsByElement(list, applied, false);
  const have = itemsByElement(list, live, true);
  const liveItems = live.map((item) => ({ element: itemElement(list, item), item }));
  const out: unknown[] = [];
  let at = 0;
  for (const [element, [item]] of wanted) {
    const mine = have.get(element);
    if (mine === undefined) {
      at = copyLiveOnly(liveItems, at, { wanted, out });
      out.push(item);
      continue;
    }
    at = copyLiveOnly(liveItems, at, { wanted, out });
    if (liveItems[at]?.element === element) at++;
    out.push(mergeApplied(list.items, mine[0], item), ...mine.slice(1));
  }
  for (; at < liveItems.length; at++) {
    const { element, item } = liveItems[at] as { element: string; item: unknown };
    if (!wanted.has(element)) out.push(item);
  }
  return out;
}

interface Copying {
  wanted: ReadonlyMap<string, unknown>;
  out: unknown[];
}

/** Copies live-only items up to the next shared one; returns where that is. */
function copyLiveOnly(items: readonly { element: string; item: unknown }[], from: number, { wanted, out }: Copying): number {
  let at = from;
  while (at < items.length && !wanted.has((items[at] as { element: string }).element)) {
    out.push((items[at] as { item: unknown }).item);
    at++;
  }
  return at;
}

/** The value without the paths of the set; containers that become empty go too. Undefined when nothing is left. */
export function removePaths(type: TypeSchema, value: unknown, set: FieldSet): unknown {
  if (set === undefined) return value;
  const list = granularList(type);
  if (list !== undefined && Array.isArray(value)) {
    const kept = value.map((item: unknown) => without(list.items, item, set[itemElement(list, item)])).filter((v) => v !== undefined);
    return kept.length === 0 && value.length > 0 ? undefined : kept;
  }
  const shape = granularObject(type, value);
  if (shape === undefined || !isObject(value)) return value;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) {
    const kept = without(childType(shape, key), value[key], set[`f:${key}`]);
    if (kept !== undefined) setOwn(out, key, kept);
  }
  return Object.keys(out).length === 0 && Object.keys(value).length > 0 ? undefined : out;
}

function without(type: TypeSchema, value: unknown, set: FieldSet): unknown {
  if (set === undefined) return value;
  return isMember(set) ? undefined : removePaths(type, value, set);
}
