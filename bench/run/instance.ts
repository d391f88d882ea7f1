// One cluster for the benchmark: bin/keelson in a temporary directory, on a free port, removed afterwards.
import { createHash } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HEAP_ENVIRONMENT } from '../../src/cli/heap-environment.ts';
import { instanceHash } from '../../src/cluster/instance/instance.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { createKubeClient, type KubeClient } from '../../tools/up/kube-client.ts';
import { readinessProbe } from './readiness-probe.ts';
import { until } from './wait.ts';

const program = join(repositoryRoot, 'bin/keelson');

/** The milliseconds of a start from the exec of bin/keelson. */
export interface StartTimes {
  readonly apiReadyMs: number;
  readonly nodeReadyMs: number;
}

/** The benchmark's cluster. */
export interface BenchInstance {
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly server: string;
  /** The six characters in the names of the instance's resources on this machine. */
  hash(): string;
  /** Process id of the running keelson. */
  pid(): number;
  client(): KubeClient;
  start(): Promise<StartTimes>;
  /** Ends the process; containerd stays. */
  stop(): Promise<void>;
  /** Ends everything and deletes the directory. */
  remove(): Promise<void>;
}

/** Prepares an instance; nothing runs yet. */
export async function createBenchInstance(
  upArgs: readonly string[],
  nodeArgs: readonly string[],
): Promise<BenchInstance> {
  const dataDir = mkdtempSync(join(tmpdir(), 'keelson-bench-'));
  const port = await freePort();
  const server = `https://127.0.0.1:${port}`;
  const kubeconfig = join(dataDir, 'admin.kubeconfig');
  // The names of simulated nodes cannot be chosen.
  const simulated = upArgs.includes('--simulate');
  const nodeName = simulated ? 'node-1' : 'bench';
  const naming = simulated ? [] : ['--node-name', nodeName];
  const args = ['up', '--data-dir', dataDir, '--https-port', String(port), ...naming, ...upArgs];
  let child: ChildProcess | undefined;
  let client: KubeClient | undefined;
  const connect = (): KubeClient => (client ??= createKubeClient(kubeconfig));
  const stop = async (): Promise<void> => {
    client?.close();
    client = undefined;
    if (child !== undefined && !hasEnded(child)) await end(child);
  };
  return {
    dataDir,
    kubeconfig,
    server,
    hash: () => instanceHash(dataDir, (text) => createHash('sha256').update(text).digest('hex')),
    pid: () => child?.pid ?? 0,
    client: connect,
    async start() {
      const startedMs = performance.now();
      const sinceMs = Date.now();
      const running = launch([...nodeArgs, program, ...args], `${dataDir}.log`);
      child = running;
      const dead = (): void => {
        if (!hasEnded(running)) return;
        throw new Error(`keelson ended: ${readFileSync(`${dataDir}.log`, 'utf8').trim().split('\n').at(-1)}`);
      };
      const probe = readinessProbe(`${server}/readyz`);
      await until(async () => (dead(), probe.ready()), { what: '/readyz', timeoutMs: 60_000, everyMs: 4 });
      const apiReadyMs = performance.now() - startedMs;
      probe.close();
      await until(async () => (dead(), existsSync(kubeconfig) && nodeReady(connect(), { nodeName, sinceMs })), {
        what: 'a Ready node',
        timeoutMs: 60_000,
        everyMs: 8,
      });
      return { apiReadyMs, nodeReadyMs: performance.now() - startedMs };
    },
    stop,
    async remove() {
      await stop();
      await run(process.execPath, [program, 'down', '--data-dir', dataDir, '--delete-data']);
      rmSync(dataDir, { recursive: true, force: true });
      rmSync(`${dataDir}.log`, { force: true });
    },
  };
}

/** Starts it as `up --detach` does. */
function launch(args: readonly string[], logFile: string): ChildProcess {
  const log = openSync(logFile, 'a');
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', log, log],
    env: { ...HEAP_ENVIRONMENT, ...process.env, KEELSON_RESTART: 'never' },
  });
  closeSync(log);
  return child;
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function end(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 20_000);
  await exited;
  clearTimeout(late);
}

/** Whether the node became Ready since the start, not in an earlier run (heartbeats are in whole seconds). */
async function nodeReady(
  client: KubeClient,
  { nodeName, sinceMs }: { nodeName: string; sinceMs: number },
): Promise<boolean> {
  const { status, body } = await client.send(`/api/v1/nodes/${nodeName}`).catch(() => ({ status: 0, body: {} }));
  if (status !== 200) return false;
  const node = body as {
    spec?: { taints?: readonly { key: string }[] };
    status?: { conditions?: readonly { type: string; status: string; lastHeartbeatTime: string }[] };
  };
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  const tainted = node.spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') === true;
  return (
    ready?.status === 'True' && !tainted && Date.parse(ready.lastHeartbeatTime) >= Math.floor(sinceMs / 1000) * 1000
  );
}

/** A TCP port of loopback that nothing listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Runs a program to its end; its output goes to our standard error. @throws when it fails */
function run(file: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 2, 2] }).on('error', reject);
    child.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`${file} ${args[1] ?? ''} failed with ${code}`)),
    );
  });
}
