/**
 * A list as it was at a revision, a page at a time: what has not changed since comes from the cache, and the history tells which
 * keys have changed and what they were. Each page reads a bounded part of the history, in parts between which others have their turn.
 *
 * Invariant: a page is given only where it is certain. Where changes may be missing, the answer is 410.
 */
import { expired, serviceUnavailable, type StatusError } from '../../api/status-error.ts';
import { errorMessage } from '../../base/errors.ts';
import { sortSteps } from '../../base/sort-steps.ts';
import type { HistoryFound, HistoryGap, HistoryLane, HistoryPart, HistoryRecord } from '../../storage/history-log.ts';
import { compareKeys } from '../../storage/key-order.ts';
import { StoreError } from '../../storage/store.ts';
import { encodeContinue } from '../generic-registry/continue-token.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { indexFrom, type ListPage } from '../generic-registry/list.ts';
import { type Selection, selects } from '../generic-registry/selection.ts';
import type { RequestScope } from '../request-scope.ts';
import { answerPaceOf, Turns } from '../turns.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { HistoryRecorder } from './history-recorder.ts';
import { cellOf, MAX_PAGE_BYTES, type Moment } from './object-history.ts';
import { laneOf } from './lanes.ts';
import type { Candidate } from './past-scans.ts';

const MIB = 1024 * 1024;
/** What one page reads of the history, before compression: to know which keys have changed since, and then what they were. */
const MOST_READ_BYTES = 256 * MIB;
/** What is read at a time: some ten milliseconds of the history's thread. */
const PART_BYTES = 8 * MIB;
/** The most objects that may have changed since then: each is held until the page is made. */
export const MOST_CHANGED_KEYS = 50_000;
/** States that are looked up together, and what is read for them. */
const BATCH = 200;
const BATCH_READ_BYTES = 64 * MIB;

export interface PastListRequest {
  readonly history: HistoryRecorder;
  readonly store: GenericStore;
  readonly scope: RequestScope;
  readonly moment: Moment;
  readonly selection: Selection;
  readonly limit: number;
  /** The first key, below the list's prefix; '' begins. */
  readonly start: string;
  /** Whether a state may be told. */
  readonly mayRead: (cell: RevisionCell, current: RevisionCell | undefined) => boolean;
}

/** Since when lists of the kind are known. Rejects as `listAt`. */
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

/** Rejects with 410 where the list is not known any more, or too much has changed since, and with 503. */
export async function listAt(request: PastListRequest): Promise<ListPage> {
  const { history, store, scope } = request;
  const under = store.prefixOf(scope.info.namespace);
  const lane = laneOfList(under);
  // Before the rest is written: whatever changes later is found in the history.
  const cells = store.cache.list(under);
  return await reading(history, async () => {
    const { revision, gaps } = await locate(request, lane);
    return await new PageAt({ ...request, lane, gaps, under, cells, revision }).read();
  });
}

function laneOfList(under: string): HistoryLane {
  const lane = laneOf(`${under}x`);
  if (lane === undefined || under.startsWith('/registry/leases/'))
    throw expired('changes of leases are not kept: lists of them are not known for any time but the present');
  return lane;
}

/** Everything up to now is written before. */
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

/** The revision of a moment whose list can be told. */
async function locate(
  { history, scope, moment }: PastListRequest,
  lane: HistoryLane,
): Promise<{ readonly revision: number; readonly gaps: readonly HistoryGap[] }> {
  const timeMs = 'timeMs' in moment ? moment.timeMs : Infinity;
  const { revision: found, gaps, status } = await scope.waitFor(history.log.locate({ lane, timeMs }));
  const isKept = 'timeMs' in moment ? timeMs >= status.sinceMs : moment.revision >= status.since;
  if (!isKept) throw tooOld('that is before the history began');
  const revision = 'timeMs' in moment ? Math.max(found, status.since) : moment.revision;
  if (gaps.some(({ until }) => until > revision)) throw tooOld('changes since then may be missing in the history');
  return { revision, gaps };
}

interface PageParts extends PastListRequest {
  readonly lane: HistoryLane;
  readonly gaps: readonly HistoryGap[];
  readonly under: string;
  /** The present ones, in the order of their keys. */
  readonly cells: readonly RevisionCell[];
  readonly revision: number;
}

/** One page being made. */
class PageAt {
  readonly #parts: PageParts;
  readonly #turns: Turns;
  #readBytes = 0;

  constructor(parts: PageParts) {
    this.#parts = parts;
    this.#turns = new Turns(answerPaceOf(parts.scope.request, parts.store.services.clock));
  }

  async read(): Promise<ListPage> {
    const { revision, limit, under, store } = this.#parts;
    const candidates = await this.#candidates();
    const page: RevisionCell[] = [];
    let bytes = 0;
    let at = 0;
    while (at < candidates.length && page.length < limit && bytes < MAX_PAGE_BYTES) {
      const wanted = candidates.slice(at, at + Math.min(BATCH, limit - page.length));
      const known = await this.#resolve(wanted);
      await store.prepare(known.filter((cell) => cell !== undefined));
      for (const cell of known) {
        await this.#turn();
        if (cell === undefined || !this.#isListed(cell)) continue;
        page.push(cell);
        bytes += cell.byteLength;
      }
      at += known.length;
      // The rest is for the next page.
      if (known.length < wanted.length || this.#readBytes > MOST_READ_BYTES) break;
    }
    const next = candidates[at];
    if (next === undefined) return { cells: page, revision };
    return { cells: page, revision, continueToken: encodeContinue({ revision, start: next.key.slice(under.length) }) };
  }

  /** In the order of their keys, from the page's first on. The pages of a list look for them once. */
  async #candidates(): Promise<readonly Candidate[]> {
    const { revision, start, under, history } = this.#parts;
    const from = under + start;
    let scan = history.scans.find(under, revision);
    if (scan === undefined || compareKeys(scan.from, from) > 0) {
      scan = { from, candidates: await this.#scan(from) };
      if (scan.candidates.length > this.#parts.limit) history.scans.keep(under, revision, scan);
    }
    return scan.candidates.slice(indexFrom(scan.candidates, from));
  }

  async #scan(from: string): Promise<readonly Candidate[]> {
    const { cells, revision } = this.#parts;
    const changed = await this.#changed(from);
    const candidates: Candidate[] = [];
    const present = new Set<string>();
    for (const cell of cells.slice(indexFrom(cells, from))) {
      await this.#turn();
      const change = changed.get(cell.key);
      present.add(cell.key);
      if (cell.revision <= revision) candidates.push({ key: cell.key, cell });
      else if (change === undefined) throw tooOld('changes since then are missing in the history');
      else if (change.change !== 'created') candidates.push({ key: cell.key, cell: undefined });
    }
    const seen = candidates.length;
    for (const { key, change } of changed.values()) {
      await this.#turn();
      if (change !== 'created' && !present.has(key)) candidates.push({ key, cell: undefined });
    }
    return candidates.length === seen ? candidates : this.#sorted(candidates);
  }

  async #sorted(candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
    const steps = sortSteps(candidates, (a, b) => compareKeys(a.key, b.key));
    let step = steps.next();
    while (step.done !== true) {
      await this.#turn();
      step = steps.next();
    }
    return step.value;
  }

  /** Rejects when the client has left. */
  #turn(): Promise<void> | undefined {
    return this.#turns.next();
  }

  /** The oldest change of each key since then. */
  async #changed(start: string): Promise<Map<string, HistoryRecord>> {
    const { lane, under: prefix, revision: after, history } = this.#parts;
    const changed = new Map<string, HistoryRecord>();
    const isAll = await this.#inParts((part) => history.log.changedKeys({ ...part, lane, prefix, start, after }), {
      mostBytes: MOST_READ_BYTES,
      take: (record) => changed.set(record.key, record),
      isEnough: () => changed.size > MOST_CHANGED_KEYS,
    });
    if (changed.size > MOST_CHANGED_KEYS)
      throw tooOld(`more than ${MOST_CHANGED_KEYS} objects have changed since then`);
    if (!isAll) throw tooOld(`more than ${MOST_READ_BYTES / MIB} MiB of changes lie between`);
    // The oldest of them may have been forgotten between two parts.
    await locate(this.#parts, lane);
    return changed;
  }

  /** What they were; undefined: not there. Fewer than wanted where not all could be found within bounds, but one at least. */
  async #resolve(wanted: readonly Candidate[]): Promise<readonly (RevisionCell | undefined)[]> {
    const { lane, revision: at, history, store } = this.#parts;
    const keys = wanted.filter(({ cell }) => cell === undefined).map(({ key }) => key);
    const found = new Map<string, HistoryRecord>();
    let held = 0;
    const isAll =
      keys.length === 0 ||
      (await this.#inParts(
        (part) => history.log.states({ ...part, lane, at, keys: keys.filter((key) => !found.has(key)) }),
        {
          mostBytes: BATCH_READ_BYTES,
          take: (record) => {
            found.set(record.key, record);
            held += record.value.length;
          },
          isEnough: () => held > MAX_PAGE_BYTES,
        },
      ));
    const end = isAll ? wanted.length : wanted.findIndex(({ key, cell }) => cell === undefined && !found.has(key));
    if (end === 0 && wanted.length === 1) throw tooOld('what was there then lies too far back in the history');
    // Values of a batch that is too large lie in the way: half of it is tried.
    if (end === 0) return this.#resolve(wanted.slice(0, wanted.length >> 1));
    return wanted
      .slice(0, end < 0 ? wanted.length : end)
      .map(({ key, cell }) => cell ?? this.#stateOf(found.get(key), store));
  }

  #stateOf(record: HistoryRecord | undefined, store: GenericStore): RevisionCell | undefined {
    if (record === undefined) throw tooOld('what was there then is not kept any more');
    const { gaps, revision } = this.#parts;
    const isUncertain = gaps.some(({ after, until }) => until > record.revision && after < revision);
    if (record.change !== 'known' && isUncertain) throw tooOld('changes may be missing in the history at that place');
    return record.change === 'deleted' ? undefined : cellOf(store, record);
  }

  #isListed(cell: RevisionCell): boolean {
    const { store, selection, mayRead } = this.#parts;
    return selects(store, selection, cell) && mayRead(cell, store.cache.get(cell.key));
  }

  /** Reads part after part; false where there is more, but it would be too much or enough is held. */
  async #inParts(
    ask: (part: Pick<HistoryPart, 'from' | 'maxBytes'>) => Promise<HistoryFound>,
    { mostBytes, take, isEnough = () => false }: Reading,
  ): Promise<boolean> {
    const { scope } = this.#parts;
    let from: number | undefined;
    let total = 0;
    do {
      scope.signal.throwIfAborted();
      const { records, next, bytes } = await scope.waitFor(ask({ from, maxBytes: PART_BYTES }));
      for (const record of records) {
        const due = this.#turn();
        if (due !== undefined) await due;
        take(record);
      }
      total += bytes;
      this.#readBytes += bytes;
      from = next;
    } while (from !== undefined && total < mostBytes && !isEnough());
    return from === undefined;
  }
}

/** How far the history is read, and what becomes of what is found. */
interface Reading {
  readonly mostBytes: number;
  readonly take: (record: HistoryRecord) => void;
  readonly isEnough?: () => boolean;
}

function tooOld(why: string): StatusError {
  return expired(`The resourceVersion for the provided list is too old: ${why}`);
}
