/**
 * `GET /keelson/v1/history/PATH-OF-THE-OBJECT`: the revisions of an object, the newest first, and its state at a moment.
 * Authorized as `get` of the object. Of objects that are gone as `get` in all namespaces. See docs/history.md.
 */
import { asWritten } from '../../api/codec/written-form.ts';
import { badRequest, noSuchPath, StatusError } from '../../api/status-error.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { dateOf, parseTime } from '../../api/time.ts';
import type { HistoryPage, HistoryRecord } from '../../storage/history-log.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { ObjectView } from '../object-views.ts';
import { objectResponse } from '../responses.ts';
import type { RequestScope } from '../request-scope.ts';
import { Turns } from '../turns.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { HistoryRecorder } from './history-recorder.ts';
import { cellOf, type Moment, readHistory, stateAt } from './object-history.ts';
import { readableUid } from './readable-uid.ts';
import { type RecordedState, type RevisionEntry, revisionEntry } from './revision-entry.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;
/** What paths and values of all revisions of one answer have. */
const MAX_TOLD_CHARACTERS = 4 * 1024 * 1024;

/** The answer without `at`. */
export interface ObjectHistory {
  readonly kind: 'ObjectHistory';
  readonly apiVersion: 'keelson/v1';
  readonly revisions: readonly RevisionEntry[];
  /** Older revisions are there: to be asked for with this `before`. */
  readonly before?: string | undefined;
  /** Changes after this revision are kept. */
  readonly since: string;
  readonly sinceTime: string;
  /** Where changes may be missing: after one revision, up to another; `changes`: how many, 0 when that is not known. */
  readonly gaps: readonly { readonly after: string; readonly until: string; readonly changes: number }[];
}

/** The answer with `at`. */
export interface ObjectAt {
  readonly kind: 'ObjectAt';
  readonly apiVersion: 'keelson/v1';
  /** Absent: the state is the present one, and how it came to be was not recorded. */
  readonly entry?: RevisionEntry | undefined;
  readonly object: KubernetesObject;
}

/** The view; it is offered where history is kept. */
export const historyView: ObjectView = {
  name: 'history',
  serve(scope, store) {
    const { history } = store.services;
    if (history === undefined) throw noSuchPath();
    const at = scope.params.get('at');
    return at === null ? serveRevisions(history, scope, store) : serveState(scope, store, momentOf(at));
  },
};

async function serveRevisions(
  history: HistoryRecorder,
  scope: RequestScope,
  store: GenericStore,
): Promise<ApiResponse> {
  const limit = Math.min(numberParam(scope, 'limit') ?? DEFAULT_LIMIT, MAX_LIMIT);
  const before = numberParam(scope, 'before');
  const uid = await readableUid(store, scope);
  const found = await readHistory(history, store, scope.info, { limit: limit + 1, before });
  const states = await statesOf(store, found.records, uid);
  const isCut = states.length < found.records.length;
  const page = { ...found, records: found.records.slice(0, states.length), more: found.more && !isCut };
  const current = store.cache.get(store.keyOf(scope.info));
  const newest = page.records[0]?.revision ?? 0;
  const turns = new Turns(store.services.clock);
  const room = { characters: MAX_TOLD_CHARACTERS };
  const revisions: RevisionEntry[] = [];
  if (before === undefined && current !== undefined && current.revision > newest)
    revisions.push(revisionEntry(await presentState(store, current)));
  // What differs in the last one is told by the one before it, which is on the next page.
  const count = page.more ? Math.max(1, page.records.length - 1) : Math.min(limit, page.records.length);
  for (const state of states.slice(0, count)) {
    await turns.next();
    revisions.push(revisionEntry(state, room));
  }
  return answer(scope, historyOf(page, revisions, count));
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

/** Each state with the one before it, decoded once; up to the first that is not of this uid, where one is given. */
async function statesOf(
  store: GenericStore,
  records: readonly HistoryRecord[],
  uid: string | undefined,
): Promise<readonly RecordedState[]> {
  const turns = new Turns(store.services.clock);
  const read: { object: KubernetesObject | undefined; unreadable: string | undefined }[] = [];
  for (const record of records) {
    await turns.next();
    const state =
      record.value.length === 0 ? { object: undefined, unreadable: undefined } : await objectOf(store, record);
    if (uid !== undefined && state.object?.metadata.uid !== uid) break;
    read.push(state);
  }
  return records
    .slice(0, read.length)
    .map((record, index) => ({ record, ...read[index]!, before: read[index + 1]?.object }));
}

async function objectOf(
  store: GenericStore,
  record: HistoryRecord,
): Promise<{ object: KubernetesObject | undefined; unreadable: string | undefined }> {
  try {
    const cell = cellOf(store, record);
    await store.prepare([cell]);
    return { object: store.object(cell), unreadable: undefined };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { object: undefined, unreadable: error.message };
  }
}

/** What is there now, where how it came to be was not recorded. */
async function presentState(store: GenericStore, cell: RevisionCell): Promise<RecordedState> {
  await store.prepare([cell]);
  const record = {
    key: cell.key,
    revision: cell.revision,
    timeMs: 0,
    change: 'known',
    value: new Uint8Array(),
  } as const;
  return { record, object: store.object(cell), before: undefined };
}

async function serveState(scope: RequestScope, store: GenericStore, moment: Moment): Promise<ApiResponse> {
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
}

function answer(scope: RequestScope, object: ObjectHistory | ObjectAt): ApiResponse {
  return objectResponse(scope.request, { status: 200, object });
}

/** A revision, or a time as RFC 3339 has it. Throws 400. */
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
