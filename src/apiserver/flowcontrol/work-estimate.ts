/**
 * Estimates the seats that a request takes: lists by the bytes they read, all others one. Upstream:
 * util/flowcontrol/request with SizeBasedListCostEstimate.
 *
 * A watch that starts with the current objects counts as a list until they are sent. Differs: writes hold no seats
 * for the events they cause, since sending events is coalesced and takes less time than a timer would.
 */
import { isTrue } from '../request-info.ts';
import type { RequestScope } from '../request-scope.ts';

const BYTES_PER_SEAT = 100_000;
const MAX_SEATS = 10;
/** The largest part of its level that a request may take. */
const MAX_PART_OF_LEVEL = 0.15;

/** The stored size of a resource. */
export interface StoredSize {
  readonly count: number;
  readonly bytes: number;
}

/** The stored size of the request's resource; undefined when it is not stored here. */
export type MeasureStored = (scope: RequestScope) => StoredSize | undefined;

/** The seats, at least one. `levelSeats`: the level's nominal seats. */
export function seatsFor(scope: RequestScope, levelSeats: number, measure: MeasureStored): number {
  const { info, params } = scope;
  if (!info.isResourceRequest || info.name !== '' || info.subresource !== '') return 1;
  if (info.verb !== 'list' && !(info.verb === 'watch' && beginsWithAll(params))) return 1;
  const stored = measure(scope);
  if (stored === undefined || stored.count === 0) return 1;
  const limit = Number(params.get('limit') ?? 0);
  // With selectors the whole list is read.
  const selects = info.labelSelector !== undefined || info.fieldSelector !== undefined;
  const part = limit > 0 && !selects ? Math.min(limit, stored.count) / stored.count : 1;
  const most = Math.min(MAX_SEATS, Math.max(1, Math.ceil(levelSeats * MAX_PART_OF_LEVEL)));
  return Math.min(most, Math.max(1, Math.ceil((stored.bytes * part) / BYTES_PER_SEAT)));
}

function beginsWithAll(params: URLSearchParams): boolean {
  const initial = params.get('sendInitialEvents');
  if (initial !== null) return isTrue(initial);
  const revision = params.get('resourceVersion') ?? '';
  return revision === '' || revision === '0';
}
