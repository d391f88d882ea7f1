/**
 * `GET /keelson/v1/history/PATH-OF-THE-OBJECT`: the revisions of an object, the newest first, or its state at a
 * moment. Authorized as `get` of the object; for deleted objects as `get` in all namespaces. The same before the path
 * of a list: the list at a moment, authorized as `list`. See docs/history.md.
 */
import { asWritten } from '../../api/codec/written-form.ts';
import { badRequest, noSuchPath } from '../../api/status-error.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { dateOf, parseTime } from '../../api/time.ts';
import type { HistoryPage } from '../../storage/history-log.ts';
import { serveCells } from '../endpoints/list.ts';
import { decodeContinue } from '../generic-registry/continue-token.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { selectionOf } from '../generic-registry/selection.ts';
import type { ObjectView } from '../object-views.ts';
import { objectResponse } from '../responses.ts';
import type { RequestScope } from '../request-scope.ts';
import { waitUntilFresh } from '../generic-registry/freshness.ts';
import type { HistoryRecorder } from './history-recorder.ts';
import { MAX_PAGE_BYTES, type Moment, readHistory, stateAt } from './object-history.ts';
import { STATE_BYTES, withinPastBudget } from './past-budget.ts';
import { listAt, spanOf } from './past-list.ts';
import { readableStates, readableUid } from './readable-uid.ts';
import { presentState, StateReader } from './recorded-states.ts';
import { type RevisionEntry, revisionEntry } from './revision-entry.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;
/** The most characters of paths and values of all revisions in one response. */
const MAX_ANSWER_CHARACTERS = 4 * 1024 * 1024;

/** The response without `at`. */
export interface ObjectHistory {
  readonly kind: 'ObjectHistory';
  readonly apiVersion: 'keelson/v1';
  readonly revisions: readonly RevisionEntry[];
  /** Set when there are older revisions: pass it as `before` to get them. */
  readonly before?: string | undefined;
  /** Changes after this revision are recorded. */
  readonly since: string;
  readonly sinceTime: string;
  /** Gaps in the record: after one revision, up to another; `changes`: how many are missing, 0 when unknown. */
  readonly gaps: readonly { readonly after: string; readonly until: string; readonly changes: number }[];
}

/** The response with `at`. */
export interface ObjectAt {
  readonly kind: 'ObjectAt';
  readonly apiVersion: 'keelson/v1';
  /** Absent: the state is the current one, and its change was not recorded. */
  readonly entry?: RevisionEntry | undefined;
  readonly object: KubernetesObject;
}

/** The view, available when the history is recorded. */
export const historyView: ObjectView = {
  name: 'history',
  serve(scope, store) {
    const { history } = store.services;
    if (history === undefined) throw noSuchPath();
    const at = scope.params.get('at');
    return at === null ? serveRevisions(history, scope, store) : serveState(scope, store, momentOf(at));
  },
  serveList(scope, store) {
    const { history } = store.services;
    if (history === undefined) throw noSuchPath();
    return scope.params.has('at') ? serveListAt(history, scope, store) : serveSpan(history, scope, store);
  },
};

/** The response for a list without `at`: since when lists of its kind are recorded, and the server's time. */
export interface HistorySpan {
  readonly kind: 'HistorySpan';
  readonly apiVersion: 'keelson/v1';
  readonly since: string;
  readonly sinceTime: string;
  readonly now: string;
}

async function serveSpan(history: HistoryRecorder, scope: RequestScope, store: GenericStore): Promise<ApiResponse> {
  const { since, sinceMs } = await spanOf(history, store, scope);
  return answer(scope, {
    kind: 'HistorySpan',
    apiVersion: 'keelson/v1',
    since: String(since),
    sinceTime: dateOf(sinceMs).toISOString(),
    now: dateOf(store.services.clock.nowMs()).toISOString(),
  });
}

const DEFAULT_LIST_LIMIT = 500;
const MAX_LIST_LIMIT = 2000;
/** The most bytes a page holds besides its response: the values of two pages, and the changed keys. */
const LIST_BYTES = 4 * MAX_PAGE_BYTES;

async function serveListAt(history: HistoryRecorder, scope: RequestScope, store: GenericStore): Promise<ApiResponse> {
  const { params } = scope;
  const token = params.get('continue') ?? '';
  const at = momentOf(params.get('at') ?? '');
  const { revision, start = '' } = token === '' ? {} : decodeContinue(token);
  if (revision !== undefined && revision < 0) throw badRequest('continue: it is no token of a list of the past');
  const limit = Math.min(numberParam(scope, 'limit') ?? DEFAULT_LIST_LIMIT, MAX_LIST_LIMIT);
  const selection = selectionOf(store, scope);
  const moment = revision === undefined ? at : { revision };
  await untilPast(store, moment);
  const { isAll, mayRead } = await readableStates(store, scope);
  if (!isAll) scope.addWarning('objects that are gone are left out: they are for those who may list in all namespaces');
  const page = await withinPastBudget({ store, scope }, LIST_BYTES, () =>
    listAt({
      history,
      store,
      scope,
      selection,
      limit,
      start,
      mayRead,
      moment,
    }),
  );
  return serveCells({ store, scope }, page, 'timeMs' in at ? at.timeMs : undefined);
}

async function serveRevisions(
  history: HistoryRecorder,
  scope: RequestScope,
  store: GenericStore,
): Promise<ApiResponse> {
  const limit = Math.min(numberParam(scope, 'limit') ?? DEFAULT_LIMIT, MAX_LIMIT);
  const before = numberParam(scope, 'before');
  return withinPastBudget({ store, scope }, MAX_PAGE_BYTES, async () => {
    const uid = await readableUid(store, scope);
    // Read before the history: changes in between may be in neither, and are for the next request.
    const current = store.cache.get(store.keyOf(scope.info));
    const historyPage = await readHistory(history, store, scope.info, { limit: limit + 1, before });
    const states = new StateReader(store, scope, uid);
    const newest = historyPage.records[0]?.revision ?? 0;
    const revisions: RevisionEntry[] = [];
    if (before === undefined && current !== undefined && current.revision > newest)
      revisions.push(revisionEntry(await presentState(store, current)));
    const { entries, isCut } = await entriesOf(historyPage, limit, states);
    const page = isCut
      ? { ...historyPage, records: historyPage.records.slice(0, entries.length), more: false }
      : historyPage;
    return answer(scope, historyOf(page, [...revisions, ...entries], entries.length));
  });
}

/**
 * Describes the records up to the first of an unreadable object, with two states in memory at a time. The difference
 * of a page's last record is computed with the first record of the next page.
 */
async function entriesOf(
  { records, more }: HistoryPage,
  limit: number,
  states: StateReader,
): Promise<{ readonly entries: readonly RevisionEntry[]; readonly isCut: boolean }> {
  const room = { characters: MAX_ANSWER_CHARACTERS };
  const count = more ? Math.max(1, records.length - 1) : Math.min(limit, records.length);
  const entries: RevisionEntry[] = [];
  let state = await states.read(records[0]);
  while (state !== undefined && entries.length < count) {
    const record = records[entries.length]!;
    const earlier = await states.read(records[entries.length + 1]);
    await states.turn();
    entries.push(revisionEntry({ record, ...state, before: earlier?.object }, room));
    state = earlier;
  }
  // Also when the next record, read only for the difference, is of another object.
  return { entries, isCut: state === undefined && entries.length < records.length };
}

function historyOf(page: HistoryPage, revisions: readonly RevisionEntry[], count: number): ObjectHistory {
  const { records, more, status, gaps } = page;
  const last = records[count - 1];
  return {
    kind: 'ObjectHistory',
    apiVersion: 'keelson/v1',
    revisions,
    before: last !== undefined && (more || records.length > count) ? String(last.revision) : undefined,
    since: String(status.since),
    sinceTime: dateOf(status.sinceMs).toISOString(),
    gaps: gaps.map(({ after, until, changes }) => ({ after: String(after), until: String(until), changes })),
  };
}

async function serveState(scope: RequestScope, store: GenericStore, moment: Moment): Promise<ApiResponse> {
  await untilPast(store, moment);
  return withinPastBudget({ store, scope }, STATE_BYTES, async () => {
    const { cell, record } = await stateAt(store, scope, moment);
    await store.prepare([cell]);
    const object = store.object(cell);
    const entry = record && revisionEntry({ record, object, before: undefined });
    return answer(scope, {
      kind: 'ObjectAt',
      apiVersion: 'keelson/v1',
      entry,
      object: asWritten(object),
    });
  });
}

function answer(scope: RequestScope, object: ObjectHistory | ObjectAt | HistorySpan): ApiResponse {
  return objectResponse(scope.request, { status: 200, object });
}

/** Waits for a future revision. Rejects with 504, as upstream for such a resourceVersion. */
async function untilPast(store: GenericStore, moment: Moment): Promise<void> {
  if ('revision' in moment) await waitUntilFresh(store, moment.revision);
}

/** Parses a revision or an RFC 3339 time. Throws 400. */
function momentOf(text: string): Moment {
  if (/^\d{1,15}$/.test(text)) return { revision: Number(text) };
  const timeMs = parseTime(text);
  if (Number.isNaN(timeMs))
    throw badRequest(`at: ${JSON.stringify(text)} is neither a revision nor a time of RFC 3339`);
  return { timeMs };
}

/** Throws 400. */
function numberParam({ params }: RequestScope, name: string): number | undefined {
  const text = params.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text) || text === '0')
    throw badRequest(`${name}: ${JSON.stringify(text)} is no whole number above 0`);
  return Number(text);
}
