// Merges and sorts a list for which a patch has `$setElementOrder`, before other fields of its object. Upstream:
// mergePatchIntoOriginal in strategicpatch.

import { isObject, type JsonObject } from '../codec/own-property.ts';
import { goPrint, goTypeName } from '../codec/go-print.ts';
import { PatchError } from './patch-error.ts';
import { checkKeys, elementType, keyIn, keyText, withoutMergeKey } from './smp-elements.ts';
import { normalizeOrder } from './smp-order.ts';
import type { PatchMeta } from './smp-schema.ts';

/** One list with an order; an undefined value means that there is no list. */
export interface OrderedList {
  readonly order: unknown;
  /** The list in the object before the patch. */
  readonly before: unknown;
  /** The list in the patch. */
  readonly set: unknown;
  readonly meta: PatchMeta;
  /** The merged list before sorting. */
  readonly merge: (before: readonly unknown[] | undefined, set: readonly unknown[]) => readonly unknown[];
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  throw new PatchError(500, `expected a []interface {}, but received a ${goTypeName(value)}`);
}

/** The list after the patch; undefined when neither side has one. */
export function orderList({ order, before, set, meta, merge }: OrderedList): readonly unknown[] | undefined {
  const wanted = listOf(order);
  const original = before === undefined ? undefined : listOf(before);
  const changes = set === undefined ? undefined : listOf(set);
  const { mergeKey } = meta;
  checkOrder(changes ?? [], wanted, mergeKey);
  if (original === undefined && changes === undefined) return undefined;
  const merged = changes === undefined ? original! : merge(original, changes);
  if (elementType(original ?? [], changes ?? []) === 'map') {
    for (const items of [merged, wanted, original ?? []]) checkKeys(items, mergeKey ?? '');
    // Without a merge key upstream cannot identify elements and fails in one of several ways.
    if (mergeKey === undefined) throw withoutMergeKey((changes ?? [])[0] ?? (original ?? [])[0], '');
  }
  const keyOf = (item: unknown): string => keyText(isObject(item) && mergeKey !== undefined ? item[mergeKey] : item);
  return normalizeOrder(merged, { order: wanted, server: original ?? [], keyOf });
}

const isMarked = (item: unknown): boolean => isObject(item) && Object.hasOwn(item, '$patch');
const isDeletion = (item: unknown): boolean => isObject(item) && (item as JsonObject)['$patch'] === 'delete';

/** Throws unless the patch's elements occur in the order list in the same order. Upstream: validatePatchWithSetOrderList. */
function checkOrder(changes: readonly unknown[], order: readonly unknown[], mergeKey: string | undefined): void {
  if (order.length === 0 || changes.length === 0) return;
  const equals = (item: unknown, place: unknown): boolean =>
    mergeKey === undefined
      ? keyText(item) === keyText(place)
      : keyText(keyIn(item, mergeKey)) === keyText(keyIn(place, mergeKey));
  const stays = mergeKey === undefined ? changes : changes.filter((item) => !isDeletion(item));
  let next = 0;
  let place = 0;
  while (next < stays.length && place < order.length) {
    if (isMarked(stays[next])) next++;
    else if (equals(stays[next], order[place++])) next++;
  }
  if (next < stays.length)
    throw new PatchError(
      500,
      `the order in patch list:\n${goPrint(changes)}\n doesn't match $setElementOrder list:\n${goPrint(order)}`,
    );
}
