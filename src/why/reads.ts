/**
 * The reads of one explanation: each is made once, their number is bounded, and what could not be read is remembered, so that
 * an answer says what it cannot know.
 */
import { isReason } from '../api/status-error.ts';
import { errorMessage } from '../base/errors.ts';

export interface ReadLimits {
  readonly signal?: AbortSignal | undefined;
  /** Called before each read: lets other work of the process have its turn. */
  readonly pause?: (() => Promise<void> | undefined) | undefined;
  /** Reads beyond it are not made. */
  readonly maxReads?: number | undefined;
}

/** More than any explanation of a real object needs. */
const USUAL_MAX_READS = 500;
const MAX_NAMED = 100;
const MAX_NAME_LENGTH = 300;

export class Reads {
  readonly signal: AbortSignal | undefined;
  readonly #pause: (() => Promise<void> | undefined) | undefined;
  readonly #maxReads: number;
  readonly #made = new Map<string, Promise<unknown>>();
  readonly #notReadable = new Set<string>();
  /** Views that the server does not have. */
  readonly #absent = new Set<string>();
  #refused = 0;

  constructor({ signal, pause, maxReads = USUAL_MAX_READS }: ReadLimits) {
    this.signal = signal;
    this.#pause = pause;
    this.#maxReads = maxReads;
  }

  get made(): readonly string[] {
    const made = [...this.#made.keys()].filter((what) => !this.#absent.has(what));
    return named(made);
  }

  get notReadable(): readonly string[] {
    const found = named([...this.#notReadable]);
    if (this.#refused === 0) return found;
    return [...found, `what else it depends on: an explanation makes ${this.#maxReads} reads at most`];
  }

  /**
   * Reads, or gives what the same read gave before. Rejects only when the signal aborts.
   * @param otherwise the answer where it cannot be read
   */
  async once<T>(what: string, otherwise: T, read: () => Promise<T>): Promise<T> {
    const due = this.#pause?.();
    if (due !== undefined) await due;
    this.signal?.throwIfAborted();
    const known = this.#made.get(what) as Promise<T> | undefined;
    if (known !== undefined) return known;
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

  /** Something was looked at that took no read. */
  note(what: string): void {
    this.#made.set(what, Promise.resolve());
  }

  /** Notes that the server does not have this, and so what cannot be seen. Throws when the signal has aborted. */
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

/** The first of many, each of bounded length. */
function named(all: readonly string[]): readonly string[] {
  const first = all.slice(0, MAX_NAMED).map(clipped);
  return all.length > MAX_NAMED ? [...first, `and ${all.length - MAX_NAMED} more`] : first;
}

function clipped(text: string): string {
  return text.length <= MAX_NAME_LENGTH ? text : `${text.slice(0, MAX_NAME_LENGTH - 1)}…`;
}
