/**
 * A live list as the server's table: pages first, then one watch from there. A watch that ends goes on where it ended; when
 * the server has forgotten that revision, the list is read again.
 */
import { ApiError, jsonOf, send } from './http.ts';
import { listPath, type Kind } from './kinds.ts';
import { linesOf } from './lines.ts';
import { pastPath, warningOf } from './past.ts';
import { isFinal, pauseAfter } from './patience.ts';
import { pause } from './pause.ts';
import { type Column, columnsOf, type Row, rowOf, type Table, TABLE_TYPE } from './table.ts';

/** What is listed. Selectors as in the API; '' selects all. */
export interface ListQuery {
  readonly kind: Kind;
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Rows have their objects. */
  readonly withObjects?: boolean;
  /** The list as it was then; absent: the present one, live. */
  readonly atMs?: number | undefined;
}

export interface RowChange {
  readonly type: 'put' | 'remove';
  readonly row: Row;
}

/** Hears of the list. */
export interface ListSink {
  columns(columns: readonly Column[]): void;
  /** Changes of one batch, in order. */
  change(changes: readonly RowChange[]): void;
  /** The first reading is done, or a later one: rows other than these are gone. */
  complete(uids: ReadonlySet<string>): void;
  /** How many rows the first reading has yet to bring. */
  remaining(count: number): void;
  state(state: ListState): void;
}

export type ListState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'live' }
  /** As it was; `warning`: what is left out. */
  | { readonly kind: 'past'; readonly warning: string }
  | { readonly kind: 'retrying'; readonly error: string }
  | { readonly kind: 'refused'; readonly error: ApiError };

/** Whether all rows are there. */
export function isRead({ kind }: ListState): boolean {
  return kind === 'live' || kind === 'past';
}

const FIRST_PAGE = 250;
const PAGE = 2000;
/** How often what cannot be watched is read again. */
const POLL_MS = 10_000;

/** Starts to list and watch; goes on until the signal. A list of the past is read once. */
export async function followTable(query: ListQuery, sink: ListSink, signal: AbortSignal): Promise<void> {
  if (query.atMs !== undefined) return readPast(query, sink, signal);
  let failures = 0;
  let version: string | undefined;
  let watches = query.kind.verbs.includes('watch');
  sink.state({ kind: 'loading' });
  while (!signal.aborted) {
    try {
      version ??= (await readAll(query, sink, signal)).version;
      sink.state({ kind: 'live' });
      if (watches) version = await watch(query, sink, { version, signal });
      else {
        await pause(POLL_MS, signal);
        version = undefined;
      }
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 410) version = undefined;
      else if (watches && version !== undefined && (error.code === 403 || error.code === 405)) watches = false;
      else if (isFinal(error)) return sink.state({ kind: 'refused', error });
      else sink.state({ kind: 'retrying', error: error.message });
      await pauseAfter(failures++, signal);
    }
  }
}

/** Reads the list of the moment, as often as it takes. */
async function readPast(query: ListQuery, sink: ListSink, signal: AbortSignal): Promise<void> {
  sink.state({ kind: 'loading' });
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const { warning } = await readAll(query, sink, signal);
      return sink.state({ kind: 'past', warning });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      // 410 is for ever here: that is not known, or no longer.
      if (isFinal(error) || error.code === 410) return sink.state({ kind: 'refused', error });
      sink.state({ kind: 'retrying', error: error.message });
      await pauseAfter(failures, signal);
    }
  }
}

/** Reads page by page; the revision that all of them show. */
async function readAll(
  query: ListQuery,
  sink: ListSink,
  signal: AbortSignal,
): Promise<{ readonly version: string; readonly warning: string }> {
  const uids = new Set<string>();
  const { kind, namespace, atMs } = query;
  const path = atMs === undefined ? listPath(kind, namespace) : pastPath(listPath(kind, namespace));
  const at = atMs === undefined ? '' : new Date(atMs).toISOString();
  let next = '';
  for (let limit = FIRST_PAGE; ; limit = PAGE) {
    const params = paramsOf(query, { limit: String(limit), continue: next, at });
    const response = await send(`${path}?${params}`, { headers: { Accept: TABLE_TYPE }, signal });
    const table = await jsonOf<Table>(response, signal);
    if (table.columnDefinitions) sink.columns(columnsOf(table.columnDefinitions));
    const rows = (table.rows ?? []).map((row) => rowOf(row, query.withObjects));
    for (const { uid } of rows) uids.add(uid);
    sink.change(rows.map((row) => ({ type: 'put', row })));
    const { continue: token = '', remainingItemCount = 1, resourceVersion } = table.metadata;
    next = token;
    // How many more there were then is not known.
    sink.remaining(next === '' || atMs !== undefined ? 0 : remainingItemCount);
    if (next === '') {
      sink.complete(uids);
      return { version: resourceVersion, warning: warningOf(response) };
    }
  }
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Table & { readonly code?: number; readonly message?: string };
}

/** Follows changes until the server ends the watch; the revision it came to. */
async function watch(
  query: ListQuery,
  sink: ListSink,
  { version, signal }: { readonly version: string; readonly signal: AbortSignal },
): Promise<string> {
  const params = paramsOf(query, { watch: '1', resourceVersion: version, allowWatchBookmarks: 'true' });
  const path = `${listPath(query.kind, query.namespace)}?${params}`;
  const response = await send(path, { headers: { Accept: TABLE_TYPE }, signal });
  let last = version;
  for await (const lines of linesOf(response)) {
    const changes: RowChange[] = [];
    for (const line of lines) {
      if (line === '') continue;
      const { type, object } = JSON.parse(line) as WatchEvent;
      if (type === 'ERROR') throw new ApiError({ code: object.code ?? 500, message: object.message ?? '' });
      const row = object.rows?.[0];
      last = row?.object.metadata.resourceVersion ?? object.metadata.resourceVersion;
      if (type === 'BOOKMARK' || row === undefined) continue;
      changes.push({ type: type === 'DELETED' ? 'remove' : 'put', row: rowOf(row, query.withObjects) });
    }
    if (changes.length > 0) sink.change(changes);
  }
  return last;
}

function paramsOf({ labelSelector, fieldSelector, withObjects }: ListQuery, more: Record<string, string>): string {
  const includeObject = withObjects === true ? 'Object' : '';
  const all = Object.entries({ ...more, labelSelector, fieldSelector, includeObject }).filter(
    ([, value]) => value !== '',
  );
  return new URLSearchParams(all).toString();
}
