/** Answers the history's questions on one open file: in its worker, or at once where there is no other thread. */
import { rmSync } from 'node:fs';
import type { HistoryFound } from '../../history-log.ts';
import { StoreError } from '../../store.ts';
import { storeErrorOf } from '../errors.ts';
import { toColumns } from './columns.ts';
import { HistoryDatabase } from './history-database.ts';
import type { HistoryCall, HistoryRequests, Spares } from './history-protocol.ts';

/** Answers one question after the other. */
export class HistoryAnswers {
  #database: HistoryDatabase | undefined;

  /** Throws `StoreError`. */
  answer(call: HistoryCall): object {
    try {
      return this.#answer(call);
    } catch (error) {
      throw storeErrorOf(error, `history, ${call.op}`);
    }
  }

  #answer(call: HistoryCall): object {
    if (call.op === 'open') return this.#open(call.request);
    if (call.op === 'close') return this.#close();
    if (this.#database === undefined) throw new StoreError('closed', 'the history is not open');
    const { nowMs } = call.request;
    switch (call.op) {
      case 'append':
        return { ...this.#database.append(call.request, nowMs), spares: sparesOf(call.request) };
      case 'read': {
        const { records, ...page } = this.#database.read(call.request, nowMs);
        return { ...page, ...toColumns(records) };
      }
      case 'locate':
        return this.#database.locate(call.request, nowMs);
      case 'changedKeys':
        return inColumns(this.#database.lanes.changedKeys(call.request));
      case 'states':
        return inColumns(this.#database.lanes.states(call.request));
      case 'prune':
        return this.#database.prune(nowMs);
    }
  }

  /** A file that cannot be read is replaced by an empty one: the server serves without its history. */
  #open(request: HistoryRequests['open']['request']): HistoryRequests['open']['answer'] {
    const { path, limits } = request;
    this.#close();
    let discarded = '';
    try {
      this.#database = new HistoryDatabase(path, limits);
    } catch (error) {
      const failure = storeErrorOf(error, 'opening the history');
      if (failure.code === 'full' || path === ':memory:') throw failure;
      discarded = failure.message;
      removeHistoryFile(path);
      this.#database = new HistoryDatabase(path, limits);
    }
    if (this.#database.open(request)) discarded = 'it was of a later state of the store, or of another store';
    return { ...this.#database.status(), discarded };
  }

  #close(): object {
    this.#database?.close();
    this.#database = undefined;
    return {};
  }
}

function sparesOf({ lanes: { objects, events } }: HistoryRequests['append']['request']): Spares {
  return { objects: objects?.bytes.buffer, events: events?.bytes.buffer };
}

function inColumns({ records, ...found }: HistoryFound): object {
  return { ...found, ...toColumns(records) };
}

/** Removes a history that is not open. */
function removeHistoryFile(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true });
}
