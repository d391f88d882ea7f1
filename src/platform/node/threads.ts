/** Pools of worker threads. This side assigns jobs to threads; the other side is text-server.ts. */
import { Worker } from 'node:worker_threads';
import { ThreadLimitError, type ThreadLimits, type ThreadPool, type ThreadTask, type Threads } from '../threads.ts';
import type { TextReply } from './text-server.ts';

interface Job {
  readonly task: ThreadTask;
  readonly text: string;
  resolve(text: string): void;
  reject(error: Error): void;
}

/** Longer queues are refused, as their end would wait for minutes. */
const MAX_WAITING = 200;

/** The threads of this machine. */
export function createNodeThreads(): Threads {
  return { pool: (program, limits) => new NodeThreadPool(program, limits) };
}

class NodeThreadPool implements ThreadPool {
  /** Shortest text first. */
  readonly #waiting: Job[] = [];
  readonly #slots: readonly Slot[];

  constructor(program: URL, limits: ThreadLimits) {
    const next = (isFor: (job: Job) => boolean): Job | undefined => {
      const at = this.#waiting.findIndex(isFor);
      return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
    };
    const isSmall = ({ text }: Job): boolean => text.length <= limits.smallLength;
    this.#slots = [new Slot(program, limits, () => next(() => true)), new Slot(program, limits, () => next(isSmall))];
  }

  run(task: ThreadTask, text: string): Promise<string> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new ThreadLimitError('queue'));
    return new Promise((resolve, reject) => {
      const at = this.#waiting.findIndex((other) => other.text.length > text.length);
      this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, { task, text, resolve, reject });
      for (const slot of this.#slots) slot.wake();
    });
  }
}

/** A place for one thread, which is started and ended as needed. */
class Slot {
  readonly #program: URL;
  readonly #limits: ThreadLimits;
  readonly #next: () => Job | undefined;
  #worker: Worker | undefined;
  #job: Job | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(program: URL, limits: ThreadLimits, next: () => Job | undefined) {
    this.#program = program;
    this.#limits = limits;
    this.#next = next;
  }

  wake(): void {
    if (this.#job !== undefined) return;
    clearTimeout(this.#timer);
    this.#job = this.#next();
    if (this.#job === undefined) {
      if (this.#worker !== undefined) this.#rest(this.#worker);
      return;
    }
    const { task, text } = this.#job;
    this.#after(task.deadlineMs, () => {
      this.#end();
      this.#fail(new ThreadLimitError('deadline'));
    });
    try {
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#worker.postMessage({ task: task.name, text });
    } catch (error) {
      // No thread can be started: the job's caller gets the error. Most calls of `wake` are from timers and events.
      this.#fail(error as Error);
    }
  }

  /** Lets an idle thread keep no process alive. Every listener added to a worker references it again. */
  #rest(worker: Worker): void {
    worker.unref();
    this.#after(this.#limits.idleMs, () => this.#end());
  }

  #after(ms: number, callback: () => void): void {
    this.#timer = setTimeout(callback, ms).unref();
  }

  #start(): Worker {
    const worker = new Worker(this.#program, { resourceLimits: { maxOldGenerationSizeMb: this.#limits.heapMb } });
    const isMine = (): boolean => this.#worker === worker;
    worker.on('message', (reply: TextReply) => {
      if (!isMine()) return;
      if ('text' in reply) this.#settle((job) => job.resolve(reply.text));
      else this.#fail(Object.assign(new Error(reply.message), { name: reply.name }));
    });
    const lost = (error: Error): void => {
      if (!isMine()) return;
      this.#worker = undefined;
      this.#fail(error);
    };
    worker.on('error', (error: Error & { code?: string }) =>
      lost(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new ThreadLimitError('memory') : error),
    );
    worker.on('exit', () => lost(new Error('a thread ended')));
    return worker;
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    worker?.terminate().catch(() => undefined); // It has ended; its job has its error already.
  }

  #fail(error: Error): void {
    this.#settle((job) => job.reject(error));
  }

  #settle(settle: (job: Job) => void): void {
    const job = this.#job;
    this.#job = undefined;
    if (job !== undefined) settle(job);
    this.wake();
  }
}
