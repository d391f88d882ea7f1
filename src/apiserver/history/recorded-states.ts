/** Decodes recorded states of an object, one at a time. */
import { StatusError } from '../../api/status-error.ts';
import type { HistoryRecord } from '../../storage/history-record.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { RequestScope } from '../request-scope.ts';
import { paceOf, Turns } from '../turns.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import { cellOf } from './object-history.ts';
import type { RecordedState } from './revision-entry.ts';

type ReadState = Pick<RecordedState, 'object' | 'unreadable'>;

/** Decodes states, giving other requests a turn. Rejects when the client has disconnected. */
export class StateReader {
  readonly #store: GenericStore;
  readonly #signal: AbortSignal;
  readonly #uid: string | undefined;
  readonly #turns: Turns;

  /** @param uid the object that may be read; undefined: all objects with its name */
  constructor(store: GenericStore, { request }: RequestScope, uid: string | undefined) {
    this.#store = store;
    this.#signal = request.signal;
    this.#uid = uid;
    this.#turns = new Turns(paceOf(request, store.services.clock));
  }

  async turn(): Promise<void> {
    this.#signal.throwIfAborted();
    await this.#turns.next();
  }

  /** Undefined without a record, or for a record of an object that may not be read. */
  async read(record: HistoryRecord | undefined): Promise<ReadState | undefined> {
    if (record === undefined) return undefined;
    await this.turn();
    const state =
      record.value.length === 0 ? { object: undefined, unreadable: undefined } : await objectOf(this.#store, record);
    return this.#uid !== undefined && state.object?.metadata.uid !== this.#uid ? undefined : state;
  }
}

async function objectOf(store: GenericStore, record: HistoryRecord): Promise<ReadState> {
  try {
    const cell = cellOf(store, record);
    await store.prepare([cell]);
    return { object: store.object(cell), unreadable: undefined };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { object: undefined, unreadable: error.message };
  }
}

/** The current state of an object whose creation was not recorded. */
export async function presentState(store: GenericStore, cell: RevisionCell): Promise<RecordedState> {
  await store.prepare([cell]);
  const record = {
    key: cell.key,
    revision: cell.revision,
    timeMs: 0,
    change: 'known',
    value: new Uint8Array(),
  } as const;
  return { record, object: store.object(cell), before: undefined };
}
