/** Threads that turn one text into another, for work that would hold the loop too long. */

/** The interface of a thread's program. */
export interface ThreadTask {
  readonly name: string;
  /** A job that takes longer is ended, with its thread. */
  readonly deadlineMs: number;
}

/** The limits of one job and of the pool. */
export interface ThreadLimits {
  /** A job whose heap grows beyond is ended, with its thread. */
  readonly heapMb: number;
  /** One thread is kept free of texts longer than this many characters. */
  readonly smallLength: number;
  /** How long a thread waits for work before it ends. */
  readonly idleMs: number;
}

/** Threads of one program, at most two, started when there is work. */
export interface ThreadPool {
  /**
   * Runs one of the program's tasks; short texts go before long ones. Rejects with {@link ThreadLimitError}, or with an
   * error that has the name and message of what the task threw.
   */
  run(task: ThreadTask, text: string): Promise<string>;
}

/** The threads port. */
export interface Threads {
  /** The address of a program that calls `serveTexts`. Undefined where there are no threads: the caller works on the loop. */
  pool(program: URL, limits: ThreadLimits): ThreadPool | undefined;
}

/** A job was ended, or never begun. */
export class ThreadLimitError extends Error {
  override readonly name = 'ThreadLimitError';
  readonly limit: 'deadline' | 'memory' | 'queue';

  constructor(limit: 'deadline' | 'memory' | 'queue') {
    super(`a thread's job exceeded its limit: ${limit}`);
    this.limit = limit;
  }
}
