/** The messages between the history and its worker. Values are sent packed, as those of the store. */
import type {
  ChangedKeysQuery,
  HistoryFound,
  HistoryLane,
  HistoryLimits,
  HistoryMoment,
  HistoryPage,
  HistoryQuery,
  HistoryStatus,
  StatesQuery,
} from '../../history-log.ts';
import type { RecordColumns } from './columns.ts';
import type { PackedBatch } from './history-database.ts';

type FoundColumns = RecordColumns & Omit<HistoryFound, 'records'>;

/** Memory that the next batch is packed in. */
export type Spares = Readonly<Partial<Record<HistoryLane, ArrayBuffer>>>;

/** The requests. `nowMs`: the caller's wall clock. */
export interface HistoryRequests {
  open: {
    ask: {
      readonly path: string;
      readonly limits: HistoryLimits;
      readonly nowRevision: number;
      readonly sinceMs: number;
      readonly nowMs: number;
    };
    answer: HistoryStatus & { readonly discarded: string };
  };
  append: {
    ask: PackedBatch & { readonly nowMs: number };
    /** `spares`: the buffers of the batch, which the worker no longer needs. */
    answer: HistoryStatus & { readonly spares: Spares };
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
