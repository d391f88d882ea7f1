/**
 * The states of a list's keys at a revision: the current ones of unchanged objects, for others those in the history.
 */
import type { HistoryRecord } from '../../storage/history-record.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import { cellOf, MAX_PAGE_BYTES } from './object-history.ts';
import { type PastPage, tooOld } from './past-page.ts';
import type { PastReader } from './past-reader.ts';
import type { Candidate } from './past-scans.ts';

/** The bytes read for states that are looked up together. */
const BATCH_READ_BYTES = 64 * 1024 * 1024;

/**
 * The former states; undefined: absent. Fewer than requested where not all could be found within bounds, but at least
 * one.
 */
export async function statesOf(
  page: PastPage,
  reader: PastReader,
  wanted: readonly Candidate[],
): Promise<readonly (RevisionCell | undefined)[]> {
  const { lane, revision: at, history } = page;
  const keys = wanted.filter(({ cell }) => cell === undefined).map(({ key }) => key);
  const found = new Map<string, HistoryRecord>();
  let held = 0;
  const isAll =
    keys.length === 0 ||
    (await reader.inParts(
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
  // The values of the batch are too large: try half of it.
  if (end === 0) return statesOf(page, reader, wanted.slice(0, wanted.length >> 1));
  return wanted.slice(0, end < 0 ? wanted.length : end).map(({ key, cell }) => cell ?? stateOf(page, found.get(key)));
}

function stateOf(page: PastPage, record: HistoryRecord | undefined): RevisionCell | undefined {
  if (record === undefined) throw tooOld('what was there then is not kept any more');
  const { gaps, revision, store } = page;
  const isUncertain = gaps.some(({ after, until }) => until > record.revision && after < revision);
  if (record.change !== 'known' && isUncertain) throw tooOld('changes may be missing in the history at that place');
  return record.change === 'deleted' ? undefined : cellOf(store, record);
}
