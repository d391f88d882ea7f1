// Ends a process of tests in which a file goes on for ever, and prints what keeps it. The time limit of node:test is one
// of tests alone: a run waits without end for a hook, for a handle that stayed open, and for a loop without turns.
import { writeSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** How long a file may take, in time limits of a test: a test that hangs is reported first. */
const LIMITS = { openHandle: 1.1, loop: 1.2 } as const;

/** Call what it returns with each file that begins. */
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

/** In another thread, since a loop without turns stops the timers of its own. */
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

/** At once, for the process ends right after. The standard error of a thread would go through the thread that loops. */
function write(text: string): void {
  writeSync(2, `✖ ${text}\n`);
}

if (!isMainThread) watchMainThread(workerData as number);
