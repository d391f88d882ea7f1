/**
 * A live list as the server's table: pages first, then one watch from their revision. A watch that ends is continued at its last
 * revision; when the server no longer has that revision, the list is read again.
 */
import { ApiError, jsonOf, send } from './http.ts';
import { listPath, type Kind } from './kinds.ts';
import { linesOf } from './lines.ts';
import { pastPath, warningOf } from './past.ts';
import { isBrief, isFinal, pauseAfter } from './patience.ts';
import { pause } from './pause.ts';
import { type Column, columnsOf, type Row, rowOf, type Table, TABLE_TYPE } from './table.ts';

/** The objects to list. Selectors are those of the API; '' selects all. */
export interface ListQuery {
  readonly kind: Kind;
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Rows include their objects. */
  readonly withObjects?: boolean;
  /** The moment of the list; absent for the live list of the present. */
  readonly atMs?: number | undefined;
}

export interface RowChange {
  readonly type: 'put' | 'remove';
  readonly row: Row;
}

/** Receives the rows of the list. */
export interface ListSink {
  columns(columns: readonly Column[]): void;
  /** Changes of one batch, in order. */
  change(changes: readonly RowChange[]): void;
  /** A complete read has ended: rows with other uids no longer exist. */
  complete(uids: ReadonlySet<string>): void;
  /** The number of rows that the first read has not delivered yet. */
  remaining(count: number): void;
  state(state: ListState): void;
}

export type ListState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'live' }
  /** A list of the past; `warning` names what it leaves out. */
  | { readonly kind: 'past'; readonly warning: string }
  | { readonly kind: 'retrying'; readonly error: string }
  | { readonly kind: 'refused'; readonly error: ApiError };

/** Whether all rows have been read. */
export function isRead({ kind }: ListState): boolean {
  return kind === 'live' || kind === 'past';
}

const FIRST_PAGE = 250;
const PAGE = 2000;
/** The interval at which lists that cannot be watched are read. */
const POLL_MS = 10_000;

/** Lists and watches until the signal aborts. A list of the past is read once. */
export async function followTable(query: ListQuery, sink: ListSink, signal: AbortSignal): Promise<void> {
  if (query.atMs !== undefined) return readPast(query, sink, signal);
  let failures = 0;
  /** The revision of the rows that are shown; undefined when the list must be read again. */
  let version: string | undefined;
  const cameTo = (revision: string): void => {
    version = revision;
    failures = 0;
  };
  let watches = query.kind.verbs.includes('watch');
  sink.state({ kind: 'loading' });
  while (!signal.aborted) {
    try {
      version ??= (await readAll(query, sink, signal)).version;
      sink.state({ kind: 'live' });
      if (watches) await watch(query, sink, { version, signal, cameTo });
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
      else if (!isBrief(error, failures)) sink.state({ kind: 'retrying', error: error.message });
      await pauseAfter(failures++, signal);
    }
  }
}

/** Reads the list of a past moment, repeating failed reads. */
async function readPast(query: ListQuery, sink: ListSink, signal: AbortSignal): Promise<void> {
  sink.state({ kind: 'loading' });
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const { warning } = await readAll(query, sink, signal);
      return sink.state({ kind: 'past', warning });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      // A 410 is final here: the moment is not recorded, or no longer.
      if (isFinal(error) || error.code === 410) return sink.state({ kind: 'refused', error });
      sink.state({ kind: 'retrying', error: error.message });
      await pauseAfter(failures, signal);
    }
  }
}

/** Reads all pages and returns their common revision. */
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
    // The past does not state the number of remaining rows.
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

interface WatchFrom {
  readonly version: string;
  readonly signal: AbortSignal;
  /** Called with each revision that the sink has received: a broken watch continues there. */
  cameTo(version: string): void;
}

/** Follows changes until the server ends the watch. */
async function watch(query: ListQuery, sink: ListSink, { version, signal, cameTo }: WatchFrom): Promise<void> {
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
    cameTo(last);
  }
}

function paramsOf({ labelSelector, fieldSelector, withObjects }: ListQuery, more: Record<string, string>): string {
  const includeObject = withObjects === true ? 'Object' : '';
  const all = Object.entries({ ...more, labelSelector, fieldSelector, includeObject }).filter(
    ([, value]) => value !== '',
  );
  return new URLSearchParams(all).toString();
}
