// The differences between two objects as sets of paths. Identical references are skipped, so comparing an update that shares
// structure with the old object costs as much as its changes. Upstream: TypedValue.Compare.

import { allSteps, type Steps } from '../../base/steps.ts';
import { nullsOfAbsent } from '../codec/null-plan.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import { equal } from '../patch/json-patch.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { isLeaf, leaf, recursiveDifference, SELF, type FieldNode, type FieldSet } from './field-set.ts';
import { childType, granularList, granularObject, type ObjectShape } from './field-shape.ts';
import { itemsByElement } from './path-element.ts';

/** The paths that are new or have another value, and the removed paths. */
export interface Comparison {
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** The comparison without the paths of `excluded` and those below them. */
export function exclude({ changed, removed }: Comparison, excluded: FieldSet): Comparison {
  return { changed: recursiveDifference(changed, excluded), removed: recursiveDifference(removed, excluded) };
}

/** Whether nothing changed. */
export function isUnchanged({ changed, removed }: Comparison): boolean {
  return changed === undefined && removed === undefined;
}

/** The comparison of two equal values. */
const unchanged: Comparison = Object.freeze({ changed: undefined, removed: undefined });
const changedLeaf: Comparison = Object.freeze({ changed: leaf, removed: undefined });
const removedLeaf: Comparison = Object.freeze({ changed: undefined, removed: leaf });

/** Compares two values of one type; undefined is an absent value. */
export function compare(type: TypeSchema, before: unknown, after: unknown): Comparison {
  if (before === after) return unchanged;
  if (before === undefined) return { changed: everyPath(type, after), removed: undefined };
  if (after === undefined) return { changed: undefined, removed: everyPath(type, before) };
  const list = granularList(type);
  if (list !== undefined) {
    const [l, r] = [asList(before), asList(after)];
    return l.length + r.length === 0 ? compareLeaf(before, after) : compareItems(list, l, r);
  }
  const shape = granularObject(type, before, after);
  if (shape === undefined) return compareLeaf(before, after);
  const sides: ComparedObjects = { before: asObject(before), after: asObject(after), nulls: [] };
  if (shape.kind === 'struct' && nullsOfAbsent(shape).length > 0) {
    sides.nulls = nullsOfAbsent(shape);
    if (isObject(before) !== isObject(after)) return compareWithNull(shape, sides, isObject(before));
  }
  if (isLeaf(sides.before) && isLeaf(sides.after)) return compareLeaf(before, after);
  return compareFields(shape, sides);
}

/** Two objects, and for each the fields that count as null when absent. */
interface ComparedObjects {
  readonly before: JsonObject;
  readonly after: JsonObject;
  nulls: readonly string[];
}

/** Compares an object, whose absent fields may be null, with null. */
function compareWithNull(
  shape: StructSchema,
  { before, after, nulls }: ComparedObjects,
  wasObject: boolean,
): Comparison {
  const object = Object.fromEntries(nulls.map((name) => [name, null]));
  const sides = {
    before: wasObject ? { ...object, ...before } : before,
    after: wasObject ? after : { ...object, ...after },
  };
  return compareFields(shape, { ...sides, nulls: [] });
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const none: JsonObject = Object.freeze({});
const asObject = (value: unknown): JsonObject => (isObject(value) ? value : none);

function compareLeaf(before: unknown, after: unknown): Comparison {
  if (after === undefined) return removedLeaf;
  return equal(before, after) ? unchanged : changedLeaf;
}

/** All paths of a value that only one side has; each container is a path, too. */
function everyPath(type: TypeSchema, value: unknown): FieldNode {
  const list = granularList(type);
  if (list !== undefined) {
    const items = asList(value);
    if (items.length === 0) return leaf;
    return pathsOfLargeLists.get(items) ?? allSteps(itemPathSteps(list, items));
  }
  const shape = granularObject(type, value);
  if (shape === undefined || !isObject(value)) return leaf;
  let out: Record<string, FieldNode> | undefined;
  for (const key of Object.keys(value)) {
    const inner = value[key];
    if (inner !== undefined) (out ??= { [SELF]: leaf })[`f:${key}`] = everyPath(childType(shape, key), inner);
  }
  if (shape.kind === 'struct')
    for (const name of nullsOfAbsent(shape)) (out ??= { [SELF]: leaf })[`f:${name}`] ??= leaf;
  return out ?? leaf;
}

/** Lists with this many items are traversed in steps. */
const LARGE_LIST = 500;

function* itemPathSteps(list: ListSchema, items: readonly unknown[]): Steps<FieldNode> {
  const out: Record<string, FieldNode> = { [SELF]: leaf };
  let walked = 0;
  for (const [element, same] of itemsByElement(list, items, true)) {
    out[element] = same.length === 1 ? everyPath(list.items, same[0]) : leaf;
    if (++walked % LARGE_LIST === 0) yield;
  }
  return out;
}

/** Paths of large lists, computed in steps before the comparison that uses them. */
const pathsOfLargeLists = new WeakMap<readonly unknown[], FieldNode>();

/** Traverses the large lists of a new value in steps. A later comparison of the value with an absent one uses the result. */
export function* largeListSteps(type: TypeSchema, value: unknown): Steps<void> {
  const list = granularList(type);
  if (list !== undefined) {
    const items = asList(value);
    if (items.length >= LARGE_LIST) pathsOfLargeLists.set(items, yield* itemPathSteps(list, items));
    else for (const item of items) yield* largeListSteps(list.items, item);
    return;
  }
  const shape = granularObject(type, value);
  if (shape === undefined || !isObject(value)) return;
  for (const key of Object.keys(value))
    if (value[key] instanceof Object) yield* largeListSteps(childType(shape, key), value[key]);
}

/** Collects the comparisons of a container's elements. */
class Collector {
  #changed: Record<string, FieldNode> | undefined;
  #removed: Record<string, FieldNode> | undefined;

  add(element: string, { changed, removed }: Comparison): void {
    if (changed !== undefined) (this.#changed ??= {})[element] = changed;
    if (removed !== undefined) (this.#removed ??= {})[element] = removed;
  }

  /** The comparison of a container that exists on both sides. */
  result(): Comparison {
    return { changed: this.#changed, removed: this.#removed };
  }
}

function compareFields(shape: ObjectShape, { before, after, nulls }: ComparedObjects): Comparison {
  const collector = new Collector();
  const valueIn = (side: JsonObject, key: string): unknown =>
    Object.hasOwn(side, key) ? side[key] : nulls.includes(key) ? null : undefined;
  for (const key of Object.keys(before)) {
    const now = valueIn(after, key);
    if (before[key] !== now) collector.add(`f:${key}`, compare(childType(shape, key), before[key], now));
  }
  for (const key of Object.keys(after))
    if (!Object.hasOwn(before, key))
      collector.add(`f:${key}`, compare(childType(shape, key), valueIn(before, key), after[key]));
  return collector.result();
}

function compareItems(list: ListSchema, l: readonly unknown[], r: readonly unknown[]): Comparison {
  const walked = l.length === 0 ? pathsOfLargeLists.get(r) : undefined;
  if (walked !== undefined) {
    const { [SELF]: _, ...changed } = walked;
    return { changed, removed: undefined };
  }
  const collector = new Collector();
  const before = itemsByElement(list, l, true);
  const after = itemsByElement(list, r, true);
  for (const [element, items] of before) {
    const now = after.get(element);
    const simple = items.length === 1 && (now === undefined || now.length === 1);
    collector.add(element, simple ? compare(list.items, items[0], now?.[0]) : compareLeaf(items, now));
  }
  for (const [element, items] of after) {
    if (!before.has(element))
      collector.add(element, items.length === 1 ? compare(list.items, undefined, items[0]) : changedLeaf);
  }
  return collector.result();
}
