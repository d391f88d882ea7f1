/** Reads the history for one page, in bounded parts between which other requests get a turn. */
import type { HistoryFound, HistoryPart } from '../../storage/history-log.ts';
import type { HistoryRecord } from '../../storage/history-record.ts';
import type { RequestScope } from '../request-scope.ts';
import { answerPaceOf, Turns } from '../turns.ts';
import type { PastPage } from './past-page.ts';

/** The bytes read at a time: some ten milliseconds of the history's thread. */
const PART_BYTES = 8 * 1024 * 1024;

/** The end of a reading, and the callback for its records. */
interface Reading {
  readonly mostBytes: number;
  readonly take: (record: HistoryRecord) => void;
  readonly isEnough?: () => boolean;
}

export class PastReader {
  readonly #scope: RequestScope;
  readonly #turns: Turns;
  #readBytes = 0;

  constructor({ scope, store }: PastPage) {
    this.#scope = scope;
    this.#turns = new Turns(answerPaceOf(scope.request, store.services.clock));
  }

  /** The bytes read for the page so far, before compression. */
  get readBytes(): number {
    return this.#readBytes;
  }

  /** Rejects when the client has disconnected. */
  turn(): Promise<void> | undefined {
    return this.#turns.next();
  }

  /** Reads part by part; returns false when it stops early because of a limit. */
  async inParts(
    ask: (part: Pick<HistoryPart, 'from' | 'maxBytes'>) => Promise<HistoryFound>,
    { mostBytes, take, isEnough = () => false }: Reading,
  ): Promise<boolean> {
    const scope = this.#scope;
    let from: number | undefined;
    let total = 0;
    do {
      scope.signal.throwIfAborted();
      const { records, next, bytes } = await scope.waitFor(ask({ from, maxBytes: PART_BYTES }));
      for (const record of records) {
        const due = this.turn();
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
