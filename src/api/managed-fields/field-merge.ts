// Merges an applied object into a live one, and removes paths from an object. Pure. Upstream: TypedValue.Merge and RemoveItems in
// structured-merge-diff.

import { nullsOfAbsent } from '../codec/null-plan.ts';
import { isObject, setOwn, type JsonObject } from '../codec/own-property.ts';
import type { ListSchema, TypeSchema } from '../schema/type-schema.ts';
import { isMember, type FieldNode, type FieldSet } from './field-set.ts';
import { childType, granularList, granularObject, type ObjectShape } from './field-shape.ts';
import { itemElement, itemsByElement } from './path-element.ts';
import { appendAll } from '../../base/lists.ts';

/**
 * The live value with all values of the applied one. A null for a granular map or list removes no entries, like an empty one,
 * because each entry has owners of its own. Throws a ListKeyError.
 */
export function mergeApplied(type: TypeSchema, live: unknown, applied: unknown): unknown {
  if (applied === undefined) return live;
  if (live === undefined || live === null) return applied;
  const list = granularList(type);
  if (applied === null) return isGranular(type, live) ? live : null;
  if (list !== undefined && Array.isArray(live) && Array.isArray(applied)) return mergeItems(list, live, applied);
  const shape = granularObject(type, live, applied);
  if (shape === undefined || !isObject(live) || !isObject(applied)) return applied;
  const out: JsonObject = { ...live };
  for (const key of Object.keys(applied)) {
    setOwn(
      out,
      key,
      mergeApplied(childType(shape, key), Object.hasOwn(live, key) ? live[key] : undefined, applied[key]),
    );
  }
  return out;
}

function isGranular(type: TypeSchema, live: unknown): boolean {
  if (Array.isArray(live)) return live.length > 0 && granularList(type) !== undefined;
  return isObject(live) && Object.keys(live).length > 0 && granularObject(type, live) !== undefined;
}

/**
 * Applied items keep their order. An item that only the live list has stays before the shared item that followed it, as far as
 * the applied order permits.
 */
function mergeItems(list: ListSchema, live: readonly unknown[], applied: readonly unknown[]): unknown[] {
  const left = itemsByElement(list, live, true);
  const right = itemsByElement(list, applied, false);
  const [ls, rs] = [[...left.keys()], [...right.keys()]];
  const shared = rs.filter((element) => left.has(element));
  let nextShared = 0;
  const out: unknown[] = [];
  const take = (element: string): void => {
    const [mine, ...repeated] = left.get(element) ?? [];
    out.push(mergeApplied(list.items, mine, right.get(element)?.[0]));
    appendAll(out, repeated);
    if (shared[nextShared] === element) nextShared++;
  };
  let [l, r] = [0, 0];
  while (l < ls.length || r < rs.length) {
    const [mine, theirs] = [ls[l], rs[r]];
    if (mine !== undefined && mine === theirs) {
      take(mine);
      l++;
      r++;
    } else if (mine !== undefined && right.has(mine) && (theirs === undefined || shared[nextShared] !== mine)) l++;
    else if (mine !== undefined && !right.has(mine)) {
      appendAll(out, left.get(mine) ?? []);
      l++;
    } else {
      if (theirs !== undefined) take(theirs);
      r++;
    }
  }
  return out;
}

/**
 * The value without the paths of the set. A container that loses its last entry becomes null and stays, because its own path is
 * not in the set. Upstream: removeItemsWithSchema.
 */
export function removePaths(type: TypeSchema, value: unknown, set: FieldSet): unknown {
  if (set === undefined) return value;
  const list = granularList(type);
  if (list !== undefined && Array.isArray(value)) {
    const remaining = value
      .map((item: unknown) => withoutPaths(list.items, item, set[itemElement(list, item)]))
      .filter((v) => v !== undefined);
    return remaining.length === 0 ? null : remaining;
  }
  const shape = granularObject(type, value);
  // An atomic value is removed as a whole.
  if (shape === undefined || !isObject(value)) return value !== null && typeof value === 'object' ? null : value;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) {
    const kept = withoutPaths(childType(shape, key), value[key], set[`f:${key}`]);
    if (kept !== undefined) setOwn(out, key, kept);
  }
  return Object.keys(out).length === 0 && !hasNullLeft(shape, value, set) ? null : out;
}

/** Whether the struct keeps a field that is absent here and null in upstream's object. */
function hasNullLeft(shape: ObjectShape, value: JsonObject, set: FieldNode): boolean {
  if (shape.kind !== 'struct') return false;
  return nullsOfAbsent(shape).some((name) => !Object.hasOwn(value, name) && !Object.hasOwn(set, `f:${name}`));
}

function withoutPaths(type: TypeSchema, value: unknown, set: FieldSet): unknown {
  if (set === undefined) return value;
  return isMember(set) ? undefined : removePaths(type, value, set);
}
