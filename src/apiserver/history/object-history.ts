/**
 * The history of one object for the registry: its revisions, and its state at a revision or time.
 *
 * Invariant: a state is returned only if it is certain. Where changes may be missing, the response is 410.
 */
import { errorMessage } from '../../base/errors.ts';
import { expired, notFound, serviceUnavailable } from '../../api/status-error.ts';
import type { HistoryGap, HistoryPage, HistoryQuery } from '../../storage/history-log.ts';
import type { HistoryRecord } from '../../storage/history-record.ts';
import { StoreError } from '../../storage/store.ts';
import type { GenericStore, ObjectName } from '../generic-registry/generic-store.ts';
import type { RequestContext } from '../request-context.ts';
import { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { HistoryRecorder } from './history-recorder.ts';
import { laneOf } from './lanes.ts';
import { readableUid } from './readable-uid.ts';

/** The most bytes of values in a page. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** A moment: the state right after this revision, or at this wall-clock time in milliseconds. */
export type Moment = { readonly revision: number } | { readonly timeMs: number };

/** A state with the record of its change; `record` is absent where only the state is known. */
export interface PastState {
  readonly cell: RevisionCell;
  readonly record?: HistoryRecord;
}

/** A page of an object's records, after every buffered change was written. Rejects with 503. */
export async function readHistory(
  history: HistoryRecorder,
  store: GenericStore,
  name: ObjectName,
  part: Pick<HistoryQuery, 'before' | 'atMs' | 'limit'>,
): Promise<HistoryPage> {
  const key = store.keyOf(name);
  const lane = laneOf(key);
  if (lane === undefined) throw expired(`changes of ${key} are not kept: it is a lease that is renewed all the time`);
  await history.flush();
  if (history.failure !== '') throw serviceUnavailable(`the history cannot be read now: ${history.failure}`);
  try {
    return await history.log.read({ lane, key, maxBytes: MAX_PAGE_BYTES, ...part });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw serviceUnavailable(`the history cannot be read now: ${errorMessage(error)}`);
  }
}

/**
 * The object's state at a moment. Rejects with 404 where it did not exist, with 410 where it is no longer known, with
 * 403 where the request may not read deleted objects.
 */
export async function stateAt(
  store: GenericStore,
  request: Pick<RequestContext, 'user' | 'info'>,
  moment: Moment,
): Promise<PastState> {
  const name = request.info;
  const uid = await readableUid(store, request);
  const key = store.keyOf(name);
  const current = store.cache.get(key);
  if ('revision' in moment && current !== undefined && current.revision <= moment.revision) return { cell: current };
  const { history } = store.services;
  if (history === undefined) throw notKept('this server keeps no history');
  const part = 'revision' in moment ? { before: moment.revision + 1 } : { atMs: moment.timeMs };
  const page = await readHistory(history, store, name, { ...part, limit: 1 });
  const [record] = page.records;
  if (record === undefined) return stateWithout(page, { store, name, moment });
  const until = page.next?.revision ?? current?.revision ?? Infinity;
  const last = 'revision' in moment ? Math.min(until, moment.revision + 1) : until;
  if (record.change === 'known') {
    if ('timeMs' in moment && moment.timeMs < page.status.sinceMs) throw notKept('that is before the history began');
  } else if (page.gaps.some((gap) => overlaps(gap, record.revision, last))) throw missing();
  if (record.change === 'deleted') throw notFound(store.groupResource, name.name);
  const cell = cellOf(store, record);
  if (uid !== undefined && cell.object().metadata.uid !== uid) throw notFound(store.groupResource, name.name);
  return { cell, record };
}

/** The state where nothing was recorded up to the moment: the object had not changed for long, or did not exist. */
function stateWithout(
  { next, gaps, status }: HistoryPage,
  { store, name, moment }: { readonly store: GenericStore; readonly name: ObjectName; readonly moment: Moment },
): PastState {
  const current = store.cache.get(store.keyOf(name));
  const from = 'revision' in moment ? moment.revision : status.since;
  const isKept = 'revision' in moment ? moment.revision >= status.since : moment.timeMs >= status.sinceMs;
  if (!isKept) throw notKept('that is before the history began');
  if (gaps.some((gap) => overlaps(gap, from, next?.revision ?? Infinity))) throw missing();
  if (next === undefined && current !== undefined && current.revision <= status.since) return { cell: current };
  if (next === undefined ? current === undefined : next.change === 'created')
    throw notFound(store.groupResource, name.name);
  throw notKept('its state of then is not kept any more');
}

/** Whether changes may be missing after one revision and before another. */
function overlaps(gap: HistoryGap, after: number, before: number): boolean {
  return gap.until > after && gap.after + 1 < before;
}

/** The cell of a recorded state. Throws 410 when its encryption key no longer exists. */
export function cellOf(store: GenericStore, { key, revision, value }: HistoryRecord): RevisionCell {
  const { cipher } = store.services.store;
  try {
    return new RevisionCell(key, revision, cipher === undefined ? value : cipher.unseal(key, value));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw expired(`revision ${revision} cannot be read: ${error.message}`);
  }
}

function notKept(why: string): Error {
  return expired(`The resourceVersion for the provided get is too old: ${why}`);
}

function missing(): Error {
  return notKept('changes may be missing in the history at that place');
}
