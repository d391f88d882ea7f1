/**
 * The runs that a simulation's console opens from files: one at a time, in a thread of its own, so that neither a long run nor one that
 * needs much memory stops the simulation.
 */
import { Worker } from 'node:worker_threads';
import { errorMessage } from '../base/errors.ts';
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { ReplayFileLink, ReplayFiles, ReplayFileState } from '../testing/simulation/replay-file-route.ts';
import type { ReplayMessage, ReplayOrder } from './replay-worker.ts';

/** The longest time that a run may take, as with `keelson sim`. */
const LIMIT_MS = 600_000;
const MIB = 1024 * 1024;
const LIMITS = { maxOldGenerationSizeMb: 2048, maxYoungGenerationSizeMb: 96 };
/** The most memory of a run. Its limits hold for the heap alone, and stored objects are buffers outside of it. */
const MAX_BYTES = LIMITS.maxOldGenerationSizeMb * MIB;
const CHECK_MS = 500;

interface ReplayFilesDeps {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** The address at which runs are served. */
  readonly host: string;
  readonly startThread?: (order: ReplayOrder) => Worker;
}

export function createReplayFiles(deps: ReplayFilesDeps): ReplayFiles {
  return new ThreadedReplayFiles(deps);
}

function startWorker(order: ReplayOrder): Worker {
  return new Worker(new URL('./replay-worker.ts', import.meta.url), { workerData: order, resourceLimits: LIMITS });
}

class ThreadedReplayFiles implements ReplayFiles {
  readonly #deps: ReplayFilesDeps;
  #current: ReplayFileState = { state: 'None' };
  #thread: Worker | undefined;
  #cancelLimit: CancelTimer = () => undefined;
  #cancelCheck: CancelTimer = () => undefined;
  /** Requests for links, in the order in which the thread answers. */
  #waiting: ((link: ReplayFileLink | undefined) => void)[] = [];

  constructor(deps: ReplayFilesDeps) {
    this.#deps = deps;
  }

  get current(): ReplayFileState {
    return this.#current;
  }

  async open(text: string): Promise<void> {
    const { host, clock, startThread = startWorker } = this.#deps;
    this.#current = { state: 'Running' };
    const former = this.#leaveThread();
    const thread = startThread({ text, host });
    this.#thread = thread;
    thread.on('message', (message: ReplayMessage) => this.#onMessage(thread, message));
    thread.on('error', (error) => this.#onEnd(thread, errorMessage(error)));
    thread.on('exit', () => this.#onEnd(thread, 'its thread has ended'));
    this.#cancelLimit = clock.setTimer(LIMIT_MS, () =>
      this.#onEnd(thread, `the run did not end after ${LIMIT_MS / 1000} s`),
    );
    this.#watchMemory(thread);
    await former;
  }

  async link(): Promise<ReplayFileLink | undefined> {
    if (this.#current.state !== 'Open') return undefined;
    const answer = new Promise<ReplayFileLink | undefined>((resolve) => this.#waiting.push(resolve));
    this.#thread?.postMessage('link');
    return await answer;
  }

  async close(): Promise<void> {
    this.#current = { state: 'None' };
    await this.#leaveThread();
  }

  #watchMemory(thread: Worker): void {
    this.#cancelCheck = this.#deps.clock.setTimer(CHECK_MS, () => {
      thread.getHeapStatistics().then(
        (heap) => this.#onMemory(thread, heap.used_heap_size + heap.external_memory),
        () => undefined, // The thread has ended.
      );
    });
  }

  #onMemory(thread: Worker, bytes: number): void {
    if (thread !== this.#thread) return;
    if (bytes <= MAX_BYTES) this.#watchMemory(thread);
    else this.#onEnd(thread, `the run needs more than ${MAX_BYTES / MIB} MiB`);
  }

  #onMessage(thread: Worker, message: ReplayMessage): void {
    if (thread !== this.#thread) return; // Another file has been opened.
    switch (message.kind) {
      case 'read':
        this.#current = { state: 'Running', name: message.name };
        return;
      case 'open':
        this.#cancelLimit();
        this.#current = { ...this.#current, state: 'Open', failure: message.failure };
        return;
      case 'link':
        this.#waiting.shift()?.({ port: message.port, path: message.path });
        return;
      case 'refused':
        this.#onEnd(thread, message.message);
    }
  }

  /** Does nothing when the thread has been left. */
  #onEnd(thread: Worker, message: string): void {
    if (thread !== this.#thread) return;
    this.#current = { state: 'Refused', name: this.#current.name, message };
    this.#leaveThread().catch(() => undefined); // It has ended.
  }

  /** Ends the thread, and requests that wait for it. */
  async #leaveThread(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    this.#cancelLimit();
    this.#cancelCheck();
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
    await thread?.terminate();
  }
}
