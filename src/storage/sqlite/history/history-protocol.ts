/** What the history and its worker say to each other. Values travel packed, as the store's do. */
import type {
  ChangedKeysQuery,
  HistoryFound,
  HistoryGap,
  HistoryLane,
  HistoryLimits,
  HistoryMoment,
  HistoryPage,
  HistoryQuery,
  HistoryStatus,
  StatesQuery,
} from '../../history-log.ts';
import type { RecordColumns } from './columns.ts';

type FoundColumns = RecordColumns & Omit<HistoryFound, 'records'>;

/** What can be asked. `nowMs`: the caller's wall clock. */
export interface HistoryRequests {
  open: {
    ask: {
      readonly path: string;
      readonly limits: HistoryLimits;
      readonly nowRevision: number;
      readonly nowMs: number;
    };
    answer: HistoryStatus & { readonly discarded: string };
  };
  append: {
    ask: {
      readonly lanes: Readonly<Record<HistoryLane, RecordColumns>>;
      readonly gaps: readonly HistoryGap[];
      readonly covered: number;
      readonly nowMs: number;
    };
    answer: HistoryStatus;
  };
  read: {
    ask: HistoryQuery & { readonly nowMs: number };
    answer: RecordColumns & Omit<HistoryPage, 'records'>;
  };
  locate: {
    ask: { readonly lane: HistoryLane; readonly timeMs: number; readonly nowMs: number };
    answer: HistoryMoment;
  };
  changedKeys: { ask: ChangedKeysQuery & { readonly nowMs: number }; answer: FoundColumns };
  states: { ask: StatesQuery & { readonly nowMs: number }; answer: FoundColumns };
  prune: { ask: { readonly nowMs: number }; answer: HistoryStatus };
  close: { ask: object; answer: object };
}

/** A question with its number. */
export type HistoryCall = {
  [Op in keyof HistoryRequests]: { readonly id: number; readonly op: Op; readonly ask: HistoryRequests[Op]['ask'] };
}[keyof HistoryRequests];
