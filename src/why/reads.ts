/**
 * The reads of one explanation: each is made once, their number is limited, and failed reads are recorded, so that the
 * explanation lists what it does not know.
 */
import { clipText } from '../base/clip-text.ts';
import { isReason } from '../api/status-error.ts';
import { errorMessage } from '../base/errors.ts';

export interface ReadLimits {
  readonly signal?: AbortSignal | undefined;
  /** Called before each read, so that other work of the process can run. */
  readonly pause?: (() => Promise<void> | undefined) | undefined;
  /** The limit of reads. */
  readonly maxReads?: number | undefined;
}

/** Explanations of real objects need fewer reads. */
const USUAL_MAX_READS = 500;
const MAX_NAMED = 100;
const MAX_NAME_LENGTH = 300;

export class Reads {
  readonly signal: AbortSignal | undefined;
  readonly #pause: (() => Promise<void> | undefined) | undefined;
  readonly #maxReads: number;
  readonly #made = new Map<string, Promise<unknown>>();
  readonly #notReadable = new Set<string>();
  /** Views that the server does not provide. */
  readonly #absent = new Set<string>();
  #refused = 0;

  constructor({ signal, pause, maxReads = USUAL_MAX_READS }: ReadLimits) {
    this.signal = signal;
    this.#pause = pause;
    this.#maxReads = maxReads;
  }

  get made(): readonly string[] {
    const made = [...this.#made.keys()].filter((what) => !this.#absent.has(what));
    return namesText(made);
  }

  get notReadable(): readonly string[] {
    const found = namesText([...this.#notReadable]);
    if (this.#refused === 0) return found;
    return [...found, `what else it depends on: an explanation makes ${this.#maxReads} reads at most`];
  }

  /**
   * Reads, or returns the result of an earlier equal read. Rejects only when the signal aborts.
   * @param otherwise the result when the read fails
   */
  async once<T>(what: string, otherwise: T, read: () => Promise<T>): Promise<T> {
    const due = this.#pause?.();
    if (due !== undefined) await due;
    this.signal?.throwIfAborted();
    const cached = this.#made.get(what) as Promise<T> | undefined;
    if (cached !== undefined) return cached;
    if (this.#made.size >= this.#maxReads) {
      this.#refused++;
      return otherwise;
    }
    const reading = read().catch((error: unknown) => {
      this.#failed(what, error);
      return otherwise;
    });
    this.#made.set(what, reading);
    return reading;
  }

  /** Records an examination that needed no read. */
  note(what: string): void {
    this.#made.set(what, Promise.resolve());
  }

  /** Records that the server lacks a view, and what is unknown without it. Throws when the signal has aborted. */
  isAbsent(what: string, unseen: string): void {
    this.signal?.throwIfAborted();
    this.#absent.add(what);
    this.#notReadable.add(`cannot see ${unseen}`);
  }

  #failed(what: string, error: unknown): void {
    this.signal?.throwIfAborted();
    const isRefused = isReason(error, 'Forbidden', 'Unauthorized');
    this.#notReadable.add(`${isRefused ? 'cannot see ' : ''}${what}: ${errorMessage(error)}`);
  }
}

/** The first of many names, each of limited length. */
function namesText(all: readonly string[]): readonly string[] {
  const first = all.slice(0, MAX_NAMED).map((name) => clipText(name, MAX_NAME_LENGTH));
  return all.length > MAX_NAMED ? [...first, `and ${all.length - MAX_NAMED} more`] : first;
}
