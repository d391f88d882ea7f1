/** The parameters of one page of a past list, and the revision that it shows. */
import { expired, type StatusError } from '../../api/status-error.ts';
import type { HistoryGap, HistoryLane } from '../../storage/history-log.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { Selection } from '../generic-registry/selection.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { HistoryRecorder } from './history-recorder.ts';
import type { Moment } from './object-history.ts';

export interface PastListRequest {
  readonly history: HistoryRecorder;
  readonly store: GenericStore;
  readonly scope: RequestScope;
  readonly moment: Moment;
  readonly selection: Selection;
  readonly limit: number;
  /** The first key, relative to the list's prefix; '' for the first page. */
  readonly start: string;
  /** Whether the user may read a state. */
  readonly mayRead: (cell: RevisionCell, current: RevisionCell | undefined) => boolean;
}

export interface PastPage extends PastListRequest {
  readonly lane: HistoryLane;
  readonly gaps: readonly HistoryGap[];
  readonly under: string;
  /** The current cells, sorted by key. */
  readonly cells: readonly RevisionCell[];
  readonly revision: number;
}

/** The revision of a moment. Rejects with 410 where the list at that revision is not certain. */
export async function locate(
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

export function tooOld(why: string): StatusError {
  return expired(`The resourceVersion for the provided list is too old: ${why}`);
}
