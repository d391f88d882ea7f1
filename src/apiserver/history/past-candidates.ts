/** The keys that may have been in a list at a revision: the current ones, and those that have changed since. */
import { sortSteps } from '../../base/sort-steps.ts';
import type { HistoryRecord } from '../../storage/history-record.ts';
import { compareKeys } from '../../storage/key-order.ts';
import { indexFrom } from '../generic-registry/list.ts';
import { locate, type PastPage, tooOld } from './past-page.ts';
import type { PastReader } from './past-reader.ts';
import type { Candidate } from './past-scans.ts';

/**
 * The most bytes, before compression, that one page reads from the history to find changed keys and their former
 * values.
 */
export const MOST_READ_BYTES = 256 * 1024 * 1024;
/** The most changed objects: each is held until the page is complete. */
export const MOST_CHANGED_KEYS = 50_000;

/** Sorted by key, from the page's first key on. Searched once for all pages of a list. */
export async function candidatesOf(page: PastPage, reader: PastReader): Promise<readonly Candidate[]> {
  const { revision, start, under, history } = page;
  const from = under + start;
  let scan = history.scans.find(under, revision);
  if (scan === undefined || compareKeys(scan.from, from) > 0) {
    scan = { from, candidates: await scanFrom(page, reader, from) };
    if (scan.candidates.length > page.limit) history.scans.keep(under, revision, scan);
  }
  return scan.candidates.slice(indexFrom(scan.candidates, from));
}

async function scanFrom(page: PastPage, reader: PastReader, from: string): Promise<readonly Candidate[]> {
  const { cells, revision } = page;
  const changed = await changedSince(page, reader, from);
  const candidates: Candidate[] = [];
  const present = new Set<string>();
  for (const cell of cells.slice(indexFrom(cells, from))) {
    await reader.turn();
    const change = changed.get(cell.key);
    present.add(cell.key);
    if (cell.revision <= revision) candidates.push({ key: cell.key, cell });
    else if (change === undefined) throw tooOld('changes since then are missing in the history');
    else if (change.change !== 'created') candidates.push({ key: cell.key, cell: undefined });
  }
  const seen = candidates.length;
  for (const { key, change } of changed.values()) {
    await reader.turn();
    if (change !== 'created' && !present.has(key)) candidates.push({ key, cell: undefined });
  }
  return candidates.length === seen ? candidates : sorted(reader, candidates);
}

async function sorted(reader: PastReader, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
  const steps = sortSteps(candidates, (a, b) => compareKeys(a.key, b.key));
  let step = steps.next();
  while (step.done !== true) {
    await reader.turn();
    step = steps.next();
  }
  return step.value;
}

/** The oldest change of each key since the revision. */
async function changedSince(page: PastPage, reader: PastReader, start: string): Promise<Map<string, HistoryRecord>> {
  const { lane, under: prefix, revision: after, history } = page;
  const changed = new Map<string, HistoryRecord>();
  const isAll = await reader.inParts((part) => history.log.changedKeys({ ...part, lane, prefix, start, after }), {
    mostBytes: MOST_READ_BYTES,
    take: (record) => changed.set(record.key, record),
    isEnough: () => changed.size > MOST_CHANGED_KEYS,
  });
  if (changed.size > MOST_CHANGED_KEYS) throw tooOld(`more than ${MOST_CHANGED_KEYS} objects have changed since then`);
  if (!isAll) throw tooOld(`more than ${MOST_READ_BYTES / 2 ** 20} MiB of changes lie between`);
  // The oldest of them may have been dropped between two parts.
  await locate(page, lane);
  return changed;
}
