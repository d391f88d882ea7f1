/** The live memory of a process started with `--inspect=127.0.0.1:0`, after a full collection. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

/** In megabytes. */
export interface Alive {
  /** Memory of JavaScript objects. */
  readonly heap: number;
  /** Memory outside of the heap that objects hold: buffers and memory reported by native code. */
  readonly external: number;
}

interface Answer {
  readonly id: number;
  readonly result: { readonly result?: { readonly value?: string } };
}

interface InspectorEvent {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

interface Inspector {
  ask(method: string, params?: object): Promise<Answer>;
  /** Calls `take` with each later event of that method. */
  listen(method: string, take: (params: Readonly<Record<string, unknown>>) => void): void;
}

const USAGE = 'JSON.stringify(process.memoryUsage())';

/** Collects garbage and measures through the inspector, whose address is in the process's log. */
export function measureAlive(logFile: string): Promise<Alive> {
  return withInspector(logFile, async ({ ask }) => {
    await ask('HeapProfiler.enable');
    await ask('HeapProfiler.collectGarbage');
    const { result } = await ask('Runtime.evaluate', { expression: USAGE });
    const usage = JSON.parse(result.result?.value ?? '') as NodeJS.MemoryUsage;
    return { heap: usage.heapUsed / 1024 / 1024, external: usage.external / 1024 / 1024 };
  });
}

/** Writes a heap snapshot, which Chromium's developer tools can open. The process halts meanwhile. */
export function writeSnapshot(logFile: string, target: string): Promise<void> {
  return withInspector(logFile, async ({ ask, listen }) => {
    writeFileSync(target, '');
    listen('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => appendFileSync(target, String(chunk)));
    await ask('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  });
}

async function withInspector<T>(logFile: string, work: (inspector: Inspector) => Promise<T>): Promise<T> {
  const [address] = /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/.exec(readFileSync(logFile, 'utf8')) ?? [];
  if (address === undefined) throw new Error(`${logFile} has no address of an inspector`);
  const socket = new WebSocket(address);
  const waiting = new Map<number, (answer: Answer) => void>();
  const listeners = new Map<string, (params: Readonly<Record<string, unknown>>) => void>();
  const failed = new Promise<never>((_, reject) => {
    socket.addEventListener('error', () => reject(new Error(`the inspector at ${address} does not answer`)));
    socket.addEventListener('close', () => reject(new Error(`the inspector at ${address} closed`)));
  });
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Answer | InspectorEvent;
    if ('method' in message) listeners.get(message.method)?.(message.params);
    else waiting.get(message.id)?.(message);
  });
  let last = 0;
  const inspector: Inspector = {
    ask: (method, params = {}) =>
      new Promise((resolve) => {
        waiting.set(++last, resolve);
        socket.send(JSON.stringify({ id: last, method, params }));
      }),
    listen: (method, take) => void listeners.set(method, take),
  };
  const opened = new Promise((resolve) => socket.addEventListener('open', resolve));
  try {
    return await Promise.race([failed, opened.then(() => work(inspector))]);
  } finally {
    socket.close();
    failed.catch(() => {});
  }
}
