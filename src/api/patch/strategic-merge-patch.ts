// Strategic merge patch: a merge patch whose schema states which lists merge by key, with directives ($patch, $retainKeys,
// $deleteFromPrimitiveList, $setElementOrder). Upstream: apimachinery/pkg/util/strategicpatch. Pure: the arguments are not
// changed, and parts that the patch does not change are shared.

import { isObject, type JsonObject, setOwn } from '../codec/own-property.ts';
import type { StructSchema, TypeSchema } from '../schema/type-schema.ts';
import {
  DELETE_PREFIX,
  DIRECTIVE,
  ORDER_PREFIX,
  RETAIN_KEYS,
  retained,
  unknownType,
  unmarked,
  withoutDirectives,
  withoutKey,
} from './merge-directives.ts';
import { PatchError } from './patch-error.ts';
import { checkKeys, elementType, keyText, withoutMergeKey } from './smp-elements.ts';
import { normalizeOrder } from './smp-order.ts';
import { orderList } from './smp-ordered-list.ts';
import { fieldMeta, type PatchMeta } from './smp-schema.ts';

/** Throws {@link PatchError}. */
export function strategicMergePatch(original: JsonObject, patch: unknown, schema: StructSchema): JsonObject {
  if (!isObject(patch)) throw new PatchError(400, 'error decoding patch: the patch is not an object');
  return mergeObject(original, patch, { type: schema, work: { copied: 0 } });
}

/**
 * The number of fields and list elements that merging has copied. Each element of the patch copies the element that it is merged
 * into.
 */
interface MergeWork {
  copied: number;
}

/** Ten times the number of copies for a patch that changes each element of the largest object once. */
const MAX_COPIED = 2_000_000;

function addCopied(work: MergeWork, count: number): void {
  work.copied += count;
  if (work.copied <= MAX_COPIED) return;
  throw new PatchError(
    413,
    `The allowed maximum of fields and elements that a strategic merge patch copies is ${MAX_COPIED}`,
  );
}

/** The type of the value being merged, and the work so far. */
interface Merging {
  readonly type: TypeSchema | undefined;
  readonly work: MergeWork;
}

function mergeObject(original: JsonObject, patch: JsonObject, { type, work }: Merging): JsonObject {
  addCopied(work, Object.keys(original).length);
  if (Object.hasOwn(patch, DIRECTIVE)) {
    const kind = patch[DIRECTIVE];
    if (kind === 'replace') return withoutKey(patch, DIRECTIVE);
    if (kind === 'delete') return {};
    throw unknownType(patch);
  }
  const out = Object.hasOwn(patch, RETAIN_KEYS) ? retained(original, patch) : { ...original };
  const ordered = mergeOrderedLists(out, patch, { type, work });
  for (const key of Object.keys(patch)) {
    if (key === DIRECTIVE || key === RETAIN_KEYS || key.startsWith(ORDER_PREFIX) || ordered.has(key)) continue;
    const isDeletion = key.startsWith(DELETE_PREFIX);
    const name = isDeletion ? key.slice(DELETE_PREFIX.length) : key;
    mergeField(out, name, { change: patch[key], isDeletion, type, work });
  }
  return out;
}

/** Merges the lists that have an order and returns their names, which the rest of the merge skips. */
function mergeOrderedLists(out: JsonObject, patch: JsonObject, { type, work }: Merging): ReadonlySet<string> {
  const ordered = new Set<string>();
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(ORDER_PREFIX)) continue;
    const name = key.slice(ORDER_PREFIX.length);
    const valueIn = (object: JsonObject): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);
    const meta = fieldMeta(type, name);
    const list = orderList({
      order: patch[key],
      before: valueIn(out),
      set: valueIn(patch),
      meta,
      merge(before, set) {
        if (before === undefined) return withoutDirectives(set, { keepsNulls: true }) as readonly unknown[];
        return meta.strategies.includes('merge')
          ? mergeList(before, set, { ...meta, work })
          : (unmarked(set) as readonly unknown[]);
      },
    });
    if (list === undefined) continue;
    ordered.add(name);
    setOwn(out, name, list);
  }
  return ordered;
}

interface Change extends Merging {
  readonly change: unknown;
  /** The patch lists the values to delete. */
  readonly isDeletion?: boolean;
}

function mergeField(out: JsonObject, key: string, { change, isDeletion = false, type, work }: Change): void {
  if (change === null) {
    delete out[key];
    return;
  }
  const before = Object.hasOwn(out, key) ? out[key] : undefined;
  if (isObject(change) && isObject(before)) {
    const meta = fieldMeta(type, key);
    const isReplaced = meta.strategies.includes('replace');
    setOwn(out, key, isReplaced ? unmarked(change) : mergeObject(before, change, { type: meta.type, work }));
  } else if (Array.isArray(change) && Array.isArray(before)) {
    const meta = fieldMeta(type, key);
    const isMerged = isDeletion || meta.strategies.includes('merge');
    setOwn(out, key, isMerged ? mergeList(before, change, { ...meta, work, isDeletion }) : unmarked(change));
  } else if (!isDeletion) {
    const value = withoutDirectives(change);
    if (value === undefined) delete out[key];
    else setOwn(out, key, value);
  }
}

function mergeList(
  original: readonly unknown[],
  patch: readonly unknown[],
  { work, isDeletion = false, ...meta }: PatchMeta & Merging & { readonly isDeletion?: boolean },
): unknown[] {
  const { mergeKey } = meta;
  addCopied(work, original.length);
  if (original.length === 0 && patch.length === 0) return [];
  if (elementType(original, patch) !== 'map') {
    const named = new Set(patch);
    return isDeletion ? original.filter((item) => !named.has(item)) : mergePrimitives(original, patch);
  }
  if (mergeKey === undefined) throw new PatchError(500, 'cannot merge lists without merge key');
  const { kept, plain } = applySpecialElements(
    original as readonly JsonObject[],
    patch as readonly JsonObject[],
    mergeKey,
  );
  const keyOf = (item: unknown): string => keyText((item as JsonObject)[mergeKey]);
  if (kept === undefined) {
    checkKeys(plain, mergeKey);
    const items = plain.map(unmarked);
    return normalizeOrder(items, { order: [], server: items, keyOf });
  }
  const type = meta.type?.kind === 'list' ? meta.type.items : undefined;
  const merged = mergeElements(kept, plain, { keyOf, type, work });
  checkKeys(merged, mergeKey);
  return normalizeOrder(merged, { order: plain, server: kept, keyOf });
}

interface Elements extends Merging {
  readonly keyOf: (item: unknown) => string;
}

/** Merges each element of the patch into the first element of the same key, or appends it. */
function mergeElements(
  kept: readonly unknown[],
  patch: readonly JsonObject[],
  { keyOf, ...merging }: Elements,
): unknown[] {
  const merged = [...kept];
  const places = new Map<string, number>();
  const note = (item: unknown, at: number): void => {
    const key = isObject(item) ? keyOf(item) : undefined;
    if (key !== undefined && !places.has(key)) places.set(key, at);
  };
  for (const [at, item] of merged.entries()) note(item, at);
  for (const item of patch) {
    const key = keyOf(item);
    const at = places.get(key);
    if (at === undefined) {
      merged.push(unmarked(item));
    } else {
      merged[at] = mergeObject(merged[at] as JsonObject, item, merging);
      // A key of null in the patch removes the element's key.
      places.delete(key);
    }
    note(merged[at ?? merged.length - 1], at ?? merged.length - 1);
  }
  return merged;
}

function mergePrimitives(original: readonly unknown[], patch: readonly unknown[]): unknown[] {
  const merged = [...new Set([...original, ...patch])];
  return normalizeOrder(merged, { order: patch, server: original, keyOf: keyText });
}

/**
 * Elements with `$patch: delete` remove their counterparts. With `$patch: replace` the other elements become the whole list, and
 * `kept` is undefined. `plain` are the patch's other elements.
 */
function applySpecialElements(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
): { kept: JsonObject[] | undefined; plain: JsonObject[] } {
  let isReplaced = false;
  const deleted = new Set<string>();
  const plain: JsonObject[] = [];
  for (const item of patch) {
    const special = item[DIRECTIVE];
    if (special === 'replace') isReplaced = true;
    else if (!Object.hasOwn(item, mergeKey)) throw withoutMergeKey(item, mergeKey);
    else if (special === 'delete') deleted.add(keyText(item[mergeKey]));
    else if (special === undefined) plain.push(item);
    else if (special === 'merge') throw new PatchError(500, 'merging lists cannot yet be specified in the patch');
    else throw unknownType(item);
  }
  const stays = (have: JsonObject): boolean => !deleted.has(keyText(have[mergeKey]));
  return { kept: isReplaced ? undefined : original.filter(stays), plain };
}
