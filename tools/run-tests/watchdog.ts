// Ends a test process in which a file does not end, and prints what keeps it alive. The time limit of node:test applies only to
// tests: a run waits without limit for a hook, an open handle, or an endless loop.
import { writeSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** The time limits of a file as multiples of a test's limit, so that a hanging test is reported first. */
const LIMITS = { openHandle: 1.1, loop: 1.2 } as const;

/** Returns a function to be called with each file that starts. */
export function watchFiles(timeoutMs: number): (file: string) => void {
  const worker = new Worker(new URL(import.meta.url), { workerData: timeoutMs * LIMITS.loop });
  worker.unref();
  let timer: NodeJS.Timeout | undefined;
  return (file) => {
    worker.postMessage(file);
    clearTimeout(timer);
    timer = setTimeout(() => {
      write(`${file} does not end; still open: ${process.getActiveResourcesInfo().join(', ')}`);
      process.exit(1);
    }, timeoutMs * LIMITS.openHandle).unref();
  };
}

/** In another thread, because an endless loop blocks the timers of its own thread. */
function watchMainThread(limitMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  parentPort!.on('message', (file: string) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      write(`${file} does not end; its thread has no turn`);
      process.kill(process.pid, 'SIGKILL');
    }, limitMs);
  });
}

/** Synchronous, because the process ends right after, and a thread's standard error goes through the thread that loops. */
function write(text: string): void {
  writeSync(2, `✖ ${text}\n`);
}

if (!isMainThread) watchMainThread(workerData as number);
