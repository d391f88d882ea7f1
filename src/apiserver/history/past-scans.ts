/**
 * Caches, for the further pages of a past list, which keys may have been in it. A few lists at a time, each until it
 * has not been used for a while.
 */
import { Lru } from '../../base/lru.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';

const LISTS = 4;
const KEPT_MS = 30_000;

/** A key that may have been in the list. */
export interface Candidate {
  readonly key: string;
  /** Undefined: the former state has to be read. */
  readonly cell: RevisionCell | undefined;
}

export interface PastScan {
  /** Earlier keys were left out. */
  readonly from: string;
  /** Sorted by key. */
  readonly candidates: readonly Candidate[];
}

export class PastScans {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #scans = new Lru<string, PastScan>(LISTS);
  #cancel: CancelTimer | undefined;

  constructor(clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#scans.size;
  }

  /** `under`: the prefix of the list's keys. */
  find(under: string, revision: number): PastScan | undefined {
    const scan = this.#scans.get(`${revision} ${under}`);
    if (scan !== undefined) this.#forgetLater();
    return scan;
  }

  keep(under: string, revision: number, scan: PastScan): void {
    this.#scans.set(`${revision} ${under}`, scan);
    this.#forgetLater();
  }

  forget(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#scans.clear();
  }

  #forgetLater(): void {
    this.#cancel?.();
    this.#cancel = this.#clock.setTimer(KEPT_MS, () => this.forget());
  }
}
