/**
 * LIST: at the newest revision, not older than one, or exactly at one; in pages that all show the first page's revision.
 * Upstream: Store.List with the cacher.
 */
import { expired, statusFailure, StatusError } from '../../api/status-error.ts';
import { prefixEnd, StoreError } from '../../storage/store.ts';
import { compareKeys } from '../../storage/key-order.ts';
import { type Pace, Turns } from '../turns.ts';
import { RevisionCell } from '../watch-cache/revision-cell.ts';
import { type ContinueToken, encodeContinue } from './continue-token.ts';
import type { PastReadCaller } from './past-reads.ts';
import { untilFresh, waitUntilFresh } from './freshness.ts';
import type { GenericStore } from './generic-store.ts';
import { type Selection, selects } from './selection.ts';

export interface ListRequest {
  /** The namespace; '' for all. */
  readonly namespace: string;
  readonly selection: Selection;
  /** The page size; 0: no limit. */
  readonly limit: number;
  readonly continue: ContinueToken | undefined;
  /** The exact revision to show; undefined: the newest. */
  readonly exactRevision: number | undefined;
  /** Paces the work. */
  readonly pace: Pace;
  /** The request that waits for the list. */
  readonly asker: PastReadCaller;
  /** The oldest acceptable revision; undefined: everything acknowledged so far. */
  readonly minRevision: number | undefined;
}

export interface ListPage {
  readonly cells: readonly RevisionCell[];
  readonly revision: number;
  readonly continueToken?: string;
  readonly remaining?: number;
}

/** The bytes of objects examined in one turn when selectors may have to decode them. */
const BYTES_BETWEEN_TURNS = 64 * 1024;

const EXPIRED_CONTINUE =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
const EXPIRED_LIST = 'The resourceVersion for the provided list is too old.';

/** The list at an exact revision, if it is in memory. */
function keptCells(store: GenericStore, under: string, revision: number): readonly RevisionCell[] | undefined {
  if (revision === store.services.hub.revision) return store.cache.list(under);
  return store.cache.snapshot(under, revision);
}

interface Source {
  readonly cells: readonly RevisionCell[];
  readonly revision: number;
  readonly from: number;
}

/** The index of the first cell at or after a key, in a list sorted by key. */
export function indexFrom(cells: readonly { readonly key: string }[], key: string): number {
  let low = 0;
  let high = cells.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys(cells[middle]!.key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A list at a past `revision` from a key on, which only the store has. */
interface PastPosition {
  readonly revision: number;
  readonly key: string;
  readonly onExpired: () => StatusError;
}

async function sourceOf(store: GenericStore, request: ListRequest, under: string): Promise<Source | PastPosition> {
  const token = request.continue;
  if (token !== undefined) {
    const key = under + token.start;
    const { revision } = token;
    const cells = revision < 0 ? store.cache.list(under) : keptCells(store, under, revision);
    if (cells === undefined) return { revision, key, onExpired: () => expiredPage(token) };
    return { cells, revision: revision < 0 ? store.services.hub.revision : revision, from: indexFrom(cells, key) };
  }
  const { exactRevision: revision } = request;
  if (revision === undefined) {
    await untilFresh(store, request.minRevision);
    return { cells: store.cache.list(under), revision: store.services.hub.revision, from: 0 };
  }
  await waitUntilFresh(store, revision);
  const cells = keptCells(store, under, revision);
  if (cells === undefined) return { revision, key: under, onExpired: () => expired(EXPIRED_LIST) };
  return { cells, revision, from: 0 };
}

function expiredPage(token: ContinueToken): StatusError {
  const { status } = statusFailure(410, 'Expired', EXPIRED_CONTINUE);
  return new StatusError({ ...status, metadata: { continue: encodeContinue({ revision: -1, start: token.start }) } });
}

/** Reads only until the page is full. */
async function listPast(store: GenericStore, request: ListRequest, past: PastPosition): Promise<ListPage> {
  const { selection, limit, namespace, pace, asker } = request;
  const { revision, key, onExpired } = past;
  const under = store.prefixOf(namespace);
  const most = selection.isEverything && limit > 0 ? limit : Infinity;
  const page: RevisionCell[] = [];
  let left = 0;
  let isFull = false;
  try {
    const pages = store.services.pastReads.pages({ start: key, end: prefixEnd(under), revision, most }, asker);
    for await (const read of pages) {
      const cells = read.entries.map((entry) => new RevisionCell(entry.key, entry.modRevision, entry.value));
      await store.prepare(cells);
      const revisionCells = selection.isEverything
        ? cells
        : (await select(store, selection, { cells, from: 0, limit: 0, pace })).page;
      const room = limit === 0 ? revisionCells.length : limit - page.length;
      for (const cell of revisionCells.slice(0, room)) page.push(cell);
      left = read.left;
      isFull = revisionCells.length > room;
      if (isFull) break;
    }
  } catch (error) {
    if (error instanceof StoreError && error.code === 'compacted') throw onExpired();
    if (error instanceof StoreError && error.code === 'futureRevision') throw expired(EXPIRED_LIST);
    throw error;
  }
  const last = page.at(-1);
  if (last === undefined || (selection.isEverything ? left <= 0 : !isFull)) return { cells: page, revision };
  const remaining = selection.isEverything ? left : undefined;
  return { cells: page, revision, continueToken: continueAfter(under, revision, last), remaining };
}

function continueAfter(under: string, revision: number, last: RevisionCell): string {
  return encodeContinue({ revision, start: `${last.key.slice(under.length)}\0` });
}

/** Lists. Rejects with 400, 410 and 504. */
export async function listCells(store: GenericStore, request: ListRequest): Promise<ListPage> {
  const under = store.prefixOf(request.namespace);
  const single = await listSingle(store, request);
  if (single !== undefined) return single;
  const source = await sourceOf(store, request, under);
  if (!('cells' in source)) return await listPast(store, request, source);
  const { cells, revision, from } = source;
  const { selection, limit } = request;
  if (selection.isEverything) {
    const end = limit === 0 ? cells.length : Math.min(cells.length, from + limit);
    const page = from === 0 && end === cells.length ? cells : cells.slice(from, end);
    await store.prepare(page);
    return finish(store, { under, revision, cells, page, end, counts: true });
  }
  await store.prepare(cells);
  const { page, end } = await select(store, selection, { cells, from, limit, pace: request.pace });
  return finish(store, { under, revision, cells, page, end, counts: false });
}

/** The newest list when the selector allows only one name. */
async function listSingle(store: GenericStore, request: ListRequest): Promise<ListPage | undefined> {
  const { selection, namespace, exactRevision, minRevision } = request;
  if (selection.name === undefined || exactRevision !== undefined || request.continue !== undefined) return undefined;
  if (store.info.namespaced && namespace === '') return undefined;
  await untilFresh(store, minRevision);
  const cell = store.cache.get(store.keyOf({ namespace, name: selection.name }));
  if (cell !== undefined) await store.prepare([cell]);
  const cells = cell !== undefined && selects(store, selection, cell) ? [cell] : [];
  return { cells, revision: store.services.hub.revision };
}

/** The selected cells, in parts between which other requests get a turn. */
export async function select(
  store: GenericStore,
  selection: Selection,
  { cells, from, limit, pace }: { cells: readonly RevisionCell[]; from: number; limit: number; pace: Pace },
): Promise<{ page: RevisionCell[]; end: number }> {
  const turns = new Turns(pace);
  const page: RevisionCell[] = [];
  let bytes = 0;
  let index = from;
  for (; index < cells.length; index++) {
    const cell = cells[index]!;
    bytes += cell.byteLength;
    if ((index & 63) === 63 || bytes > BYTES_BETWEEN_TURNS) {
      bytes = 0;
      const due = turns.next();
      if (due !== undefined) await due;
    }
    if (selects(store, selection, cell)) {
      if (limit > 0 && page.length === limit) break;
      page.push(cell);
    }
  }
  return { page, end: index };
}

function finish(
  store: GenericStore,
  list: {
    under: string;
    revision: number;
    cells: readonly RevisionCell[];
    page: readonly RevisionCell[];
    end: number;
    counts: boolean;
  },
): ListPage {
  const { under, revision, cells, page, end } = list;
  const last = page.at(-1);
  if (end >= cells.length || last === undefined) return { cells: page, revision };
  store.cache.keepSnapshot(under, revision, cells);
  const continueToken = continueAfter(under, revision, last);
  return { cells: page, revision, continueToken, remaining: list.counts ? cells.length - end : undefined };
}
