// Prints where the main thread is when a load does not end. It runs in a worker, because the main thread is blocked.
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { Worker, isMainThread, workerData } from 'node:worker_threads';

/** Ends the process after this much processor time, with the main thread's stack on standard error. */
export function endAfter(limitMs: number): void {
  new Worker(import.meta.filename, { workerData: { limitMs }, execArgv: ['--conditions=keelson-source'] }).unref();
}

function watch(limitMs: number): void {
  const look = setInterval(() => {
    const { user, system } = process.cpuUsage();
    if ((user + system) / 1000 < limitMs) return;
    clearInterval(look);
    const session = new Session();
    session.connectToMainThread();
    const urls = new Map<string, string>();
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
    session.on('Debugger.paused', ({ params }) => {
      const stack = params.callFrames.slice(0, 16).map(({ functionName, location }) => {
        const url = urls.get(location.scriptId) ?? '';
        return `${functionName} ${url.slice(url.indexOf('/src/') + 1)}:${location.lineNumber + 1}`;
      });
      writeSync(2, `no end in ${limitMs} ms of processor time: ${stack.join(' < ')}\n`);
      process.kill(process.pid, 'SIGKILL');
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 5000);
  }, 200);
}

if (!isMainThread) watch((workerData as { limitMs: number }).limitMs);
