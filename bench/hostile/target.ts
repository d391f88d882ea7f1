// The attacked server: sends requests to it, and measures it and the other client meanwhile.
import { existsSync, readFileSync, truncateSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { Worker } from 'node:worker_threads';

import { sleep } from '../run/wait.ts';
import type { HostileRequest } from './bodies.ts';
import { kubeconfigOf } from './kubeconfig.ts';

const NAMESPACE = 'default';
const REQUEST_TIMEOUT_MS = 120_000;

/** The measurements of one request. */
export interface Figures {
  readonly status: string;
  readonly tookMs: number;
  /** The longest wait of the other client. */
  readonly waitMs: number;
  /** The longest time for which the main thread ran no timers. NaN for servers without the meter. */
  readonly haltMs: number;
}

/** A server and the client that reads from it. */
export interface Target {
  send(of: HostileRequest): Promise<string>;
  /** `settleMs`: how long the server continues to work after its response. */
  measure(of: HostileRequest, settleMs?: number): Promise<Figures>;
  /** Measures any attack, which resolves to its result. */
  during(attack: () => Promise<string>, settleMs?: number): Promise<Figures>;
  close(): void;
}

function pathOf(path: string): string {
  return path.startsWith('/') ? path.replace('{}', NAMESPACE) : `/api/v1/namespaces/${NAMESPACE}/${path}`;
}

/** Sends one request; resolves to the status, or to a short text when there was none. */
function send(server: string, agent: Agent, of: HostileRequest): Promise<string> {
  const data = of.body === undefined ? undefined : Buffer.from(of.body as string);
  const { hostname, port } = new URL(server);
  const headers = {
    accept: 'application/json',
    ...(data !== undefined && { 'content-type': of.type ?? 'application/json', 'content-length': data.length }),
    ...of.headers,
  };
  return new Promise((resolve) => {
    const at = { hostname, port, path: pathOf(of.path), method: of.method, headers, agent };
    const call = request({ ...at, timeout: REQUEST_TIMEOUT_MS }, (response) => {
      const told: Buffer[] = [];
      response.on('data', (chunk: Buffer) => {
        if (process.env['KEELSON_HOSTILE_SHOW'] !== undefined && told.length < 1) told.push(chunk);
      });
      response.on('error', () => resolve('cut'));
      response.on('end', () => {
        if (told.length > 0) console.log(Buffer.concat(told).toString('utf8').slice(0, 400));
        resolve(String(response.statusCode));
      });
    });
    call.on('timeout', () => call.destroy(new Error('timeout')));
    call.on('error', (error: Error & { code?: string }) => resolve(error.code ?? error.message));
    call.end(data);
  });
}

/** The longest recorded halt since the last call. */
function longestHalt(file: string | undefined): number {
  if (file === undefined || !existsSync(file)) return file === undefined ? NaN : 0;
  const halts = readFileSync(file, 'utf8').split('\n').map(Number);
  truncateSync(file);
  return Math.max(0, ...halts);
}

/** Connects, and starts the other client. `haltsFile`: the file of the meter. */
export function connect(kubeconfig: string, haltsFile: string | undefined): Target {
  const { server, tls } = kubeconfigOf(readFileSync(kubeconfig, 'utf8'));
  const path = `/api/v1/namespaces/${NAMESPACE}`;
  const prober = new Worker(new URL('prober.ts', import.meta.url), { workerData: { kubeconfig, path } });
  prober.setMaxListeners(0);
  const agent = new Agent({ keepAlive: false, ...tls });
  const worstWaitMs = (): Promise<number> =>
    new Promise((resolve) => {
      prober.once('message', resolve);
      prober.postMessage('');
    });
  return {
    send: (of) => send(server, agent, of),
    measure(of, settleMs) {
      return this.during(() => send(server, agent, of), settleMs);
    },
    async during(attack, settleMs = 10) {
      await sleep(30);
      longestHalt(haltsFile);
      await worstWaitMs();
      const startMs = performance.now();
      const status = await attack();
      const tookMs = performance.now() - startMs;
      await sleep(settleMs);
      return { status, tookMs, haltMs: longestHalt(haltsFile), waitMs: await worstWaitMs() };
    },
    close: () => void prober.terminate(),
  };
}
