/** Runs scenarios on several threads, in which the real clock, network and randomness throw. */
import { Worker } from 'node:worker_threads';
import type { SimAnswer, SimOrder } from './sim-worker.ts';

/** A pool of threads that run scenarios. */
export interface SimPool {
  run(text: string, seed: number, options?: { twice?: boolean; timeline?: boolean }): Promise<SimAnswer>;
  close(): Promise<void>;
}

/** Room for what lives as long as one virtual instant: a tenth of the time goes into collecting it otherwise. */
const LIMITS = { maxYoungGenerationSizeMb: 96 };

/** Longest time of a run, which normally takes seconds. A longer one blocks its thread. */
const LIMIT_MS = 600_000;

function startWorker(): Worker {
  return new Worker(new URL('./sim-worker.ts', import.meta.url), { resourceLimits: LIMITS });
}

/** Starts the threads. A run that takes more than `limitMs` of real time is ended and counts as failed. */
export function createSimPool(threads: number, { limitMs = LIMIT_MS, startThread = startWorker } = {}): SimPool {
  const idle: Worker[] = [];
  const all = new Set<Worker>();
  const waiting: ((worker: Worker) => void)[] = [];
  const running = new Map<Worker, { resolve(answer: SimAnswer): void; reject(error: Error): void }>();
  let nextId = 0;

  const release = (worker: Worker): void => {
    const next = waiting.shift();
    if (next === undefined) idle.push(worker);
    else next(worker);
  };
  const start = (): void => {
    const worker = startThread();
    worker.on('message', (answer: SimAnswer) => {
      if (!all.has(worker)) return; // Replaced: this answer was on its way when its time was up.
      running.get(worker)?.resolve(answer);
      running.delete(worker);
      release(worker);
    });
    worker.on('error', (error: Error) => {
      if (!all.has(worker)) return;
      running.get(worker)?.reject(error);
      replace(worker);
    });
    all.add(worker);
    release(worker);
  };
  const replace = (worker: Worker): void => {
    all.delete(worker);
    running.delete(worker);
    worker.terminate().catch(() => undefined); // It has ended.
    start();
  };
  for (let index = 0; index < threads; index++) start();

  const take = (): Promise<Worker> => {
    const worker = idle.pop();
    return worker === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(worker);
  };
  return {
    async run(text, seed, { twice = false, timeline = false } = {}) {
      const worker = await take();
      const order: SimOrder = { id: nextId++, text, seed, twice, timeline };
      let watchdog: NodeJS.Timeout | undefined;
      return new Promise<SimAnswer>((resolve, reject) => {
        running.set(worker, { resolve, reject });
        worker.postMessage(order);
        watchdog = setTimeout(() => {
          const cause = `no end after ${limitMs / 1000} s of real time: a loop that never waits`;
          resolve({ id: order.id, failure: { cause, message: `seed ${seed}: ${cause}`, step: -1 } });
          replace(worker);
        }, limitMs);
      }).finally(() => clearTimeout(watchdog));
    },
    async close() {
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
}
