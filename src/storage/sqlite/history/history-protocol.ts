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
    request: {
      readonly path: string;
      readonly limits: HistoryLimits;
      readonly nowRevision: number;
      readonly sinceMs: number;
      readonly nowMs: number;
    };
    answer: HistoryStatus & { readonly discarded: string };
  };
  append: {
    request: PackedBatch & { readonly nowMs: number };
    /** `spares`: the buffers of the batch, which the worker no longer needs. */
    answer: HistoryStatus & { readonly spares: Spares };
  };
  read: {
    request: HistoryQuery & { readonly nowMs: number };
    answer: RecordColumns & Omit<HistoryPage, 'records'>;
  };
  locate: {
    request: { readonly lane: HistoryLane; readonly timeMs: number; readonly nowMs: number };
    answer: HistoryMoment;
  };
  changedKeys: { request: ChangedKeysQuery & { readonly nowMs: number }; answer: FoundColumns };
  states: { request: StatesQuery & { readonly nowMs: number }; answer: FoundColumns };
  prune: { request: { readonly nowMs: number }; answer: HistoryStatus };
  close: { request: object; answer: object };
}

/** A question with its number. */
export type HistoryCall = {
  [Op in keyof HistoryRequests]: {
    readonly id: number;
    readonly op: Op;
    readonly request: HistoryRequests[Op]['request'];
  };
}[keyof HistoryRequests];
