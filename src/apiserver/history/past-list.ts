/**
 * A list at a past revision, page by page: unchanged objects come from the cache, and the history has the changed
 * keys and their former values. Each page reads a bounded part of the history, in parts between which other requests
 * get a turn.
 *
 * Invariant: a page is returned only if it is certain. Where changes may be missing, the response is 410.
 */
import { expired, serviceUnavailable } from '../../api/status-error.ts';
import { errorMessage } from '../../base/errors.ts';
import type { HistoryLane } from '../../storage/history-log.ts';
import { StoreError } from '../../storage/store.ts';
import { encodeContinue } from '../generic-registry/continue-token.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { ListPage } from '../generic-registry/list.ts';
import { selects } from '../generic-registry/selection.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { HistoryRecorder } from './history-recorder.ts';
import { MAX_PAGE_BYTES } from './object-history.ts';
import { laneOf } from './lanes.ts';
import { candidatesOf, MOST_READ_BYTES } from './past-candidates.ts';
import { locate, type PastListRequest, type PastPage } from './past-page.ts';
import { PastReader } from './past-reader.ts';
import { statesOf } from './past-states.ts';

/** The number of keys in one request to the history. */
const BATCH = 200;

/** Since when lists of the kind are recorded. Rejects like `listAt`. */
export async function spanOf(
  history: HistoryRecorder,
  store: GenericStore,
  scope: RequestScope,
): Promise<{ readonly since: number; readonly sinceMs: number }> {
  const lane = laneOfList(store.prefixOf(scope.info.namespace));
  const { status, gaps } = await reading(history, () => scope.waitFor(history.log.locate({ lane, timeMs: 0 })));
  const since = gaps.reduce((latest, { until }) => Math.max(latest, until), status.since);
  return { since, sinceMs: status.sinceMs };
}

/** Rejects with 410 where the list is no longer known or too much has changed since, and with 503. */
export async function listAt(request: PastListRequest): Promise<ListPage> {
  const { history, store, scope } = request;
  const under = store.prefixOf(scope.info.namespace);
  const lane = laneOfList(under);
  // Read before the buffered changes are written, so that the history has every later change.
  const cells = store.cache.list(under);
  return await reading(history, async () => {
    const { revision, gaps } = await locate(request, lane);
    return await readPage({ ...request, lane, gaps, under, cells, revision });
  });
}

function laneOfList(under: string): HistoryLane {
  const lane = laneOf(`${under}x`);
  if (lane === undefined || under.startsWith('/registry/leases/'))
    throw expired('changes of leases are not kept: lists of them are not known for any time but the present');
  return lane;
}

/** Writes every buffered change first. */
async function reading<T>(history: HistoryRecorder, work: () => Promise<T>): Promise<T> {
  await history.flush();
  if (history.failure !== '') throw serviceUnavailable(`the history cannot be read now: ${history.failure}`);
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw serviceUnavailable(`the history cannot be read now: ${errorMessage(error)}`);
  }
}

async function readPage(page: PastPage): Promise<ListPage> {
  const { revision, limit, under, store } = page;
  const reader = new PastReader(page);
  const candidates = await candidatesOf(page, reader);
  const cells: RevisionCell[] = [];
  let bytes = 0;
  let at = 0;
  while (at < candidates.length && cells.length < limit && bytes < MAX_PAGE_BYTES) {
    const wanted = candidates.slice(at, at + Math.min(BATCH, limit - cells.length));
    const revisionCells = await statesOf(page, reader, wanted);
    await store.prepare(revisionCells.filter((cell) => cell !== undefined));
    for (const cell of revisionCells) {
      await reader.turn();
      if (cell === undefined || !isListed(page, cell)) continue;
      cells.push(cell);
      bytes += cell.byteLength;
    }
    at += revisionCells.length;
    // The rest belongs to the next page.
    if (revisionCells.length < wanted.length || reader.readBytes > MOST_READ_BYTES) break;
  }
  const next = candidates[at];
  if (next === undefined) return { cells, revision };
  return { cells, revision, continueToken: encodeContinue({ revision, start: next.key.slice(under.length) }) };
}

function isListed({ store, selection, mayRead }: PastPage, cell: RevisionCell): boolean {
  return selects(store, selection, cell) && mayRead(cell, store.cache.get(cell.key));
}
