/** Reads the history for one page, a bounded part at a time; between the parts others have their turn. */
import type { HistoryFound, HistoryPart, HistoryRecord } from '../../storage/history-log.ts';
import type { RequestScope } from '../request-scope.ts';
import { answerPaceOf, Turns } from '../turns.ts';
import type { PastPage } from './past-page.ts';

/** What is read at a time: some ten milliseconds of the history's thread. */
const PART_BYTES = 8 * 1024 * 1024;

/** How far the history is read, and what becomes of what is found. */
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

  /** Bytes read for the page so far, before compression. */
  get readBytes(): number {
    return this.#readBytes;
  }

  /** Rejects when the client has left. */
  turn(): Promise<void> | undefined {
    return this.#turns.next();
  }

  /** Reads part after part; false where there is more, but it would be too much or enough is held. */
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
