/** What is alive in a process that was started with `--inspect=127.0.0.1:0`: memory after a full collection. */
import { readFileSync } from 'node:fs';

/** In megabytes. */
export interface Alive {
  /** Of objects. */
  readonly heap: number;
  /** Held by objects outside of the heap: buffers and what native code told. */
  readonly external: number;
}

interface Answer {
  readonly id: number;
  readonly result: { readonly result?: { readonly value?: string } };
}

const USAGE = 'JSON.stringify(process.memoryUsage())';

/** Collects and measures through the inspector, whose address stands in the process's log. */
export async function measureAlive(logFile: string): Promise<Alive> {
  const [address] = /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/.exec(readFileSync(logFile, 'utf8')) ?? [];
  if (address === undefined) throw new Error(`${logFile} has no address of an inspector`);
  const socket = new WebSocket(address);
  const ask = (id: number, method: string, params = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      socket.addEventListener('error', () => reject(new Error(`the inspector at ${address} does not answer`)));
      socket.addEventListener('message', ({ data }) => {
        const answer = JSON.parse(String(data)) as Answer;
        if (answer.id === id) resolve(answer);
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  try {
    await ask(1, 'HeapProfiler.enable');
    await ask(2, 'HeapProfiler.collectGarbage');
    const { result } = await ask(3, 'Runtime.evaluate', { expression: USAGE });
    const usage = JSON.parse(result.result?.value ?? '') as NodeJS.MemoryUsage;
    return { heap: usage.heapUsed / 1024 / 1024, external: usage.external / 1024 / 1024 };
  } finally {
    socket.close();
  }
}
