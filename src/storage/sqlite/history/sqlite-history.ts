/**
 * The history's file and its worker, which runs only while there is something to do: it starts with the first call
 * and ends after a quiet time, so that an idle server holds no memory for it.
 */
import { Worker } from 'node:worker_threads';
import type { CancelTimer, Clock } from '../../../platform/clock.ts';
import type { Log } from '../../../platform/log.ts';
import { background } from '../../../platform/unexpected.ts';
import {
  HISTORY_LANES,
  type ChangedKeysQuery,
  type HistoryBatch,
  type HistoryFound,
  type HistoryLane,
  type HistoryLimits,
  type HistoryLog,
  type HistoryMoment,
  type HistoryPage,
  type HistoryQuery,
  type HistoryStatus,
  type StatesQuery,
} from '../../history-log.ts';
import { HistoryRecords } from '../../history-records.ts';
import { StoreError } from '../../store.ts';
import { WorkerClient } from '../worker-client.ts';
import { fromColumns } from './columns.ts';
import type { HistoryRequests } from './history-protocol.ts';
import { packRecords, type PackedSegment } from './packed-segment.ts';

export interface SqliteHistoryOptions {
  /** The file, made when missing; `:memory:` keeps it in the memory of the worker, which then never ends. */
  readonly path: string;
  readonly limits: HistoryLimits;
  readonly clock: Clock;
  readonly log: Log;
}

const IDLE_MS = 10_000;
/** Longer ones, of rare large batches, are not kept. */
const MAX_SPARE_BYTES = 4 * 1024 * 1024;

type Call = <Op extends keyof HistoryRequests>(
  op: Op,
  request: HistoryRequests[Op]['request'],
) => Promise<HistoryRequests[Op]['answer']>;

/** The calls of the history, whether a worker or this thread serves them. */
export interface HistoryCaller {
  readonly call: Call;
  end(): Promise<void>;
}

interface Running {
  readonly caller: HistoryCaller;
  readonly opened: Promise<HistoryStatus>;
}

/** Nothing is opened before the first call. */
export function createSqliteHistory(options: SqliteHistoryOptions): HistoryLog {
  return createHistoryOver(options, () => workerCaller(options.clock));
}

/** A history whose calls another part serves. */
export function createHistoryOver(options: SqliteHistoryOptions, start: () => HistoryCaller): HistoryLog {
  return new SqliteHistory(options, start);
}

function workerCaller(clock: Clock): HistoryCaller {
  const worker = new Worker(new URL('./history-worker.ts', import.meta.url), { name: 'keelson-history' });
  const client = new WorkerClient<HistoryRequests>(clock, worker);
  return {
    call: (op, request) => client.call(op, request, { transfer: buffersOf(request) }),
    end: () => client.ended(),
  };
}

/** The buffers that are transferred to the worker: those of a batch. Other calls have none. */
function buffersOf(request: HistoryRequests[keyof HistoryRequests]['request']): readonly ArrayBuffer[] {
  if (!('lanes' in request)) return [];
  return Object.values(request.lanes).map(({ bytes }) => bytes.buffer);
}

class SqliteHistory implements HistoryLog {
  readonly #options: SqliteHistoryOptions;
  readonly #start: () => HistoryCaller;
  #running: Running | undefined;
  /** Buffers that the worker has returned: memory that is new to the process costs more than packing a batch. */
  #spares: Partial<Record<HistoryLane, ArrayBuffer>> = {};
  #nowRevision = 0;
  /** When `#nowRevision` was the newest. */
  #sinceMs = 0;
  #underWay = 0;
  #cancelIdle: CancelTimer | undefined;
  #ending: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: SqliteHistoryOptions, start: () => HistoryCaller) {
    this.#options = options;
    this.#start = start;
  }

  async open(nowRevision: number, sinceMs: number): Promise<HistoryStatus> {
    this.#nowRevision = nowRevision;
    this.#sinceMs = sinceMs;
    return this.prune();
  }

  async append({ records, gaps, covered }: HistoryBatch): Promise<HistoryStatus> {
    const request = { lanes: packLanes(records), gaps, covered, nowMs: this.#nowMs };
    if (covered > this.#nowRevision) [this.#nowRevision, this.#sinceMs] = [covered, request.nowMs];
    const { spares, ...status } = await this.#with(({ caller }) => caller.call('append', request));
    for (const lane of HISTORY_LANES) this.#keep(lane, spares[lane]);
    return status;
  }

  newRecords(lane: HistoryLane): HistoryRecords {
    const spare = this.#spares[lane];
    delete this.#spares[lane];
    return new HistoryRecords(spare);
  }

  #keep(lane: HistoryLane, spare: ArrayBuffer | undefined): void {
    if (spare !== undefined && spare.byteLength <= MAX_SPARE_BYTES && this.#running !== undefined)
      this.#spares[lane] = spare;
  }

  async read(query: HistoryQuery): Promise<HistoryPage> {
    const answer = await this.#with(({ caller }) => caller.call('read', { ...query, nowMs: this.#nowMs }));
    const { more, next, gaps, status } = answer;
    return { records: fromColumns(answer), more, next, gaps, status };
  }

  locate(query: Parameters<HistoryLog['locate']>[0]): Promise<HistoryMoment> {
    return this.#with(({ caller }) => caller.call('locate', { ...query, nowMs: this.#nowMs }));
  }

  async changedKeys(query: ChangedKeysQuery): Promise<HistoryFound> {
    const answer = await this.#with(({ caller }) => caller.call('changedKeys', { ...query, nowMs: this.#nowMs }));
    return { records: fromColumns(answer), next: answer.next, bytes: answer.bytes };
  }

  async states(query: StatesQuery): Promise<HistoryFound> {
    const answer = await this.#with(({ caller }) => caller.call('states', { ...query, nowMs: this.#nowMs }));
    return { records: fromColumns(answer), next: answer.next, bytes: answer.bytes };
  }

  prune(): Promise<HistoryStatus> {
    return this.#with(({ caller }) => caller.call('prune', { nowMs: this.#nowMs }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  get #nowMs(): number {
    return this.#options.clock.nowMs();
  }

  async #with<T>(work: (running: Running) => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreError('closed', 'the history is closed');
    this.#underWay++;
    this.#cancelIdle?.();
    try {
      await this.#ending;
      const running = (this.#running ??= this.#begin());
      await running.opened;
      return await work(running);
    } catch (error) {
      // After a failure that stays, the next call opens the file again in a new worker: file or thread may be gone.
      if (error instanceof StoreError && error.code === 'unavailable') await this.#end();
      throw error;
    } finally {
      if (--this.#underWay === 0) this.#endWhenIdle();
    }
  }

  #begin(): Running {
    const caller = this.#start();
    return { caller, opened: this.#open(caller) };
  }

  async #open(caller: HistoryCaller): Promise<HistoryStatus> {
    const { path, limits, log } = this.#options;
    const request = { path, limits, nowRevision: this.#nowRevision, sinceMs: this.#sinceMs, nowMs: this.#nowMs };
    try {
      const { discarded, ...status } = await caller.call('open', request);
      if (discarded !== '') log.error('the history of objects was discarded and starts empty', { why: discarded });
      return status;
    } catch (error) {
      this.#running = undefined;
      await caller.end();
      throw error;
    }
  }

  #endWhenIdle(): void {
    if (this.#closed || this.#options.path === ':memory:') return;
    this.#cancelIdle = this.#options.clock.setTimer(IDLE_MS, () =>
      background(this.#options.log, 'the worker of the history could not be ended', this.#end()),
    );
  }

  #end(): Promise<void> {
    this.#cancelIdle?.();
    const running = this.#running;
    this.#running = undefined;
    this.#spares = {};
    if (running !== undefined) this.#ending = this.#ending.then(() => endOf(running.caller));
    return this.#ending;
  }
}

function packLanes(records: HistoryBatch['records']): Partial<Record<HistoryLane, PackedSegment>> {
  const lanes: Partial<Record<HistoryLane, PackedSegment>> = {};
  for (const lane of HISTORY_LANES) {
    const historyRecords = records[lane];
    if (historyRecords !== undefined && historyRecords.count > 0) lanes[lane] = packRecords(historyRecords);
  }
  return lanes;
}

async function endOf(caller: HistoryCaller): Promise<void> {
  try {
    await caller.call('close', {});
  } catch (error) {
    if (!(error instanceof StoreError)) throw error; // It is gone already.
  } finally {
    await caller.end();
  }
}
