// What changed between two objects, as sets of paths. Equal references are skipped unread, so an update that shares
// structure with its predecessor costs what it changed. Upstream: TypedValue.Compare.

import { isObject, type JsonObject } from '../codec/own-property.ts';
import { equal } from '../patch/json-patch.ts';
import type { ListSchema, TypeSchema } from '../schema/type-schema.ts';
import { leaf, nodeOf, recursiveDifference, self, type FieldNode, type FieldSet } from './field-set.ts';
import { childType, granularList, granularObject, type ObjectShape } from './field-shape.ts';
import { itemsByElement } from './path-element.ts';

/** The paths that were added, removed, and changed in value. */
export interface Comparison {
  added: FieldSet;
  removed: FieldSet;
  modified: FieldSet;
}

/** The comparison without the paths in and below `excluded`. */
export function exclude(c: Comparison, excluded: FieldSet): Comparison {
  if (excluded === undefined) return c;
  return {
    added: recursiveDifference(c.added, excluded),
    removed: recursiveDifference(c.removed, excluded),
    modified: recursiveDifference(c.modified, excluded),
  };
}

/** Whether nothing changed. */
export function isUnchanged(c: Comparison): boolean {
  return c.added === undefined && c.removed === undefined && c.modified === undefined;
}

const unchanged: Comparison = Object.freeze({ added: undefined, removed: undefined, modified: undefined });

/** Compares two values of one type; undefined means absent. */
export function compare(type: TypeSchema, before: unknown, after: unknown): Comparison {
  if (before === after) return unchanged;
  if (before === undefined) return { added: everyPath(type, after), removed: undefined, modified: undefined };
  if (after === undefined) return { added: undefined, removed: everyPath(type, before), modified: undefined };
  const list = granularList(type);
  if (list !== undefined) {
    const [l, r] = [asList(before), asList(after)];
    return l.length + r.length === 0 ? compareLeaf(before, after) : compareItems(list, [before, after], [l, r]);
  }
  const shape = granularObject(type, before, after);
  if (shape === undefined) return compareLeaf(before, after);
  const [l, r] = [asObject(before), asObject(after)];
  if (isEmpty(l) && isEmpty(r)) return compareLeaf(before, after);
  return compareFields(shape, [before, after], [l, r]);
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const none: JsonObject = Object.freeze({});
const asObject = (value: unknown): JsonObject => (isObject(value) ? value : none);

function isEmpty(object: JsonObject): boolean {
  for (const _ in object) return false;
  return true;
}

function compareLeaf(before: unknown, after: unknown): Comparison {
  if (before === undefined) return { ...unchanged, added: leaf };
  if (after === undefined) return { ...unchanged, removed: leaf };
  return equal(before, after) ? unchanged : { ...unchanged, modified: leaf };
}

/** All paths of a value that is there on one side alone: each container, too, is a path. */
function everyPath(type: TypeSchema, value: unknown): FieldNode {
  const list = granularList(type);
  if (list !== undefined) {
    const items = asList(value);
    if (items.length === 0) return leaf;
    const out: Record<string, FieldNode> = { [self]: leaf };
    for (const [element, same] of itemsByElement(list, items, true))
      out[element] = same.length === 1 ? everyPath(list.items, same[0]) : leaf;
    return out;
  }
  const shape = granularObject(type, value);
  if (shape === undefined || !isObject(value)) return leaf;
  let out: Record<string, FieldNode> | undefined;
  for (const key of Object.keys(value)) {
    const inner = value[key];
    if (inner !== undefined) (out ??= { [self]: leaf })[`f:${key}`] = everyPath(childType(shape, key), inner);
  }
  return out ?? leaf;
}

type Pair<T> = readonly [T, T];

/** Collects the comparisons of children. */
class Collector {
  private added: Record<string, FieldNode> | undefined;
  private removed: Record<string, FieldNode> | undefined;
  private modified: Record<string, FieldNode> | undefined;

  add(element: string, c: Comparison): void {
    if (c.added !== undefined) (this.added ??= {})[element] = c.added;
    if (c.removed !== undefined) (this.removed ??= {})[element] = c.removed;
    if (c.modified !== undefined) (this.modified ??= {})[element] = c.modified;
  }

  /** The container itself is added or removed when one side lacks it. */
  result([before, after]: Pair<unknown>): Comparison {
    return {
      added: nodeOf(before === undefined, this.added),
      removed: nodeOf(after === undefined, this.removed),
      modified: nodeOf(false, this.modified),
    };
  }
}

function compareFields(shape: ObjectShape, values: Pair<unknown>, [l, r]: Pair<JsonObject>): Comparison {
  const collector = new Collector();
  for (const key of Object.keys(l)) {
    const now = Object.hasOwn(r, key) ? r[key] : undefined;
    if (l[key] !== now) collector.add(`f:${key}`, compare(childType(shape, key), l[key], now));
  }
  for (const key of Object.keys(r)) {
    if (!Object.hasOwn(l, key)) collector.add(`f:${key}`, compare(childType(shape, key), undefined, r[key]));
  }
  return collector.result(values);
}

function compareItems(list: ListSchema, values: Pair<unknown>, [l, r]: Pair<readonly unknown[]>): Comparison {
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
      collector.add(
        element,
        items.length === 1 ? compare(list.items, undefined, items[0]) : compareLeaf(undefined, items),
      );
  }
  return collector.result(values);
}
