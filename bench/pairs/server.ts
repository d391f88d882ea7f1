// One server of one tree: its start, its processor time, its end.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HEAP_ENVIRONMENT } from '../../src/cli/heap-environment.ts';
import { kubeconfigOf } from '../hostile/kubeconfig.ts';
import { sleep } from '../run/wait.ts';

/** Values of the first and of the second commit. */
export type Sides<T> = readonly [T, T];

/** The number of concurrent connections. */
export const CONNECTIONS = 16;

const START_TIMEOUT_MS = 60_000;

/** A server that is ready. */
export interface Server {
  /** The time until it was ready. */
  readonly startMs: number;
  /** Processor time until it was ready. */
  readonly startCpuMs: number;
  /** Its standard output. */
  output(): string;
  /** Processor time of all its threads, or of those with this name, in microseconds. Threads that have ended do not count. */
  cpuUs(thread?: string): number;
  /** Its private pages in bytes, without mapped files. */
  anonymousBytes(): number;
  send(method: string, path: string, body?: string): Promise<void>;
  signal(name: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** The tree to start, and its flags. */
export interface Build {
  readonly tree: string;
  /** Flags of `up` in addition to those of every server. */
  readonly flags: readonly string[];
  /** The program in the tree. Default: the one that users run. */
  readonly entry?: string;
}

/** Starts `up --simulate` with one node and waits until it is ready. */
export async function startServer(build: Build, nodeArgs: readonly string[] = []): Promise<Server> {
  const { tree, flags, entry = join('bin', 'keelson') } = build;
  const dataDir = mkdtempSync(join(tmpdir(), 'keelson-pair-'));
  const port = await freePort();
  const up = ['up', '--simulate', '--nodes', '1', '--data-dir', dataDir, '--https-port', String(port), ...flags];
  const startedMs = performance.now();
  const child = spawn(process.execPath, [...nodeArgs, join(tree, entry), ...up], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...HEAP_ENVIRONMENT, ...process.env, KEELSON_RESTART: 'never' },
  });
  const chunks: string[] = [];
  child.stdout!.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  const end = async (): Promise<void> => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await ended;
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const { agent, send } = await reach(child, join(dataDir, 'admin.kubeconfig'), startedMs);
    return {
      startMs: performance.now() - startedMs,
      startCpuMs: endedToo(child.pid!),
      output: () => chunks.join(''),
      cpuUs: (thread) => threadsUs(child.pid!, thread),
      anonymousBytes: () => anonymousBytes(child.pid!),
      send,
      signal: (name) => child.kill(name),
      stop() {
        agent.destroy();
        return end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Runs one server of each side, and ends both. `round` alternates which of them starts first. */
export async function withServers<T>(
  builds: Sides<Build>,
  work: (servers: Sides<Server>) => Promise<T>,
  round = 0,
): Promise<T> {
  const isTurned = round % 2 === 1;
  const first = await startServer(builds[isTurned ? 1 : 0]);
  try {
    const second = await startServer(builds[isTurned ? 0 : 1]);
    try {
      return await work(isTurned ? [second, first] : [first, second]);
    } finally {
      await second.stop();
    }
  } finally {
    await first.stop();
  }
}

interface Reached {
  readonly agent: Agent;
  readonly send: Server['send'];
}

/** Waits until it responds. @throws with the last error */
async function reach(child: ChildProcess, kubeconfig: string, startedMs: number): Promise<Reached> {
  for (let cause: unknown; ; await sleep(5)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('a server ended at its start', { cause });
    if (performance.now() - startedMs > START_TIMEOUT_MS)
      throw new Error('a server was not ready in a minute', { cause });
    try {
      return await connect(readFileSync(kubeconfig, 'utf8'));
    } catch (error) {
      cause = error;
    }
  }
}

async function connect(kubeconfig: string): Promise<Reached> {
  const { server, tls } = kubeconfigOf(kubeconfig);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, ...tls });
  try {
    const send = sender(server, agent);
    await send('GET', '/readyz');
    return { agent, send };
  } catch (error) {
    agent.destroy();
    throw error;
  }
}

function sender(server: string, agent: Agent): Server['send'] {
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' };
      const call = request(new URL(path, server), { method, agent, headers }, (response) => {
        response.resume().on('error', reject);
        response.on('end', () => {
          if (response.statusCode! < 300) resolve();
          else reject(new Error(`${method} ${path} was answered ${response.statusCode}`));
        });
      });
      call.on('error', reject).end(body);
    });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function threadsUs(pid: number, name?: string): number {
  let ns = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const path = `/proc/${pid}/task/${thread}/schedstat`;
    const isMeant = name === undefined || readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim() === name;
    if (isMeant && existsSync(path)) ns += Number(readFileSync(path, 'utf8').split(' ')[0]);
  }
  return ns / 1000;
}

function anonymousBytes(pid: number): number {
  const kib = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kib === undefined) throw new Error(`/proc/${pid}/status has no RssAnon`);
  return Number(kib) * 1024;
}

/** Includes threads that have ended, but in the kernel's ticks of 10 ms. */
function endedToo(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
