/** Servers with their own etcd, started by the command line, side by side on loopback addresses, for tests. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '../../src/client/client.ts';
import { loadKubeconfig } from '../../src/client/kubeconfig.ts';
import { createRestClient } from '../../src/client/rest-client.ts';
import { instanceHash } from '../../src/cluster/instance/instance.ts';
import { createNodePlatform } from '../../src/platform/node/node-platform.ts';
import { keelsonProgram } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';

/** The output and exit code of a command. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface OwnServer {
  readonly name: string;
  readonly url: string;
  readonly dataDir: string;
  /** Starts it with these options in addition to its own; resolves when it is ready. */
  start(options?: readonly string[]): Promise<void>;
  /** Runs `keelson` with its data directory. */
  keelson(args: readonly string[]): Promise<Said>;
  /** An administrator's client. */
  client(): Promise<Client>;
  /** Kills it by kill -9; resolves when it has ended. */
  kill(): Promise<void>;
  /** The pid of its etcd; undefined while none runs. */
  etcdPid(): number | undefined;
  /** Takes it down with its data, whatever is left of it. */
  remove(): Promise<void>;
}

/** Runs a program; does not reject for a failed one. */
export function run(program: string, args: readonly string[]): Promise<Said> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 180_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 255), stdout, stderr }),
    );
  });
}

/** Runs `keelson`; does not reject for a failed command. */
export function keelson(args: readonly string[]): Promise<Said> {
  return run(process.execPath, [keelsonProgram, ...args]);
}

/** Prepares a server of this name at an address of loopback; nothing runs yet. */
export async function ownServer(name: string, address: string): Promise<OwnServer> {
  const dataDir = await mkdtemp(join(tmpdir(), `keelson-own-${name}-`));
  const [https, client, peer] = [await freePort('0.0.0.0'), await freePort(address), await freePort(address)];
  const platform = createNodePlatform({ startSpawner: false });
  const own = [
    ...['--data-dir', dataDir, '--node-name', name, '--advertise-address', address, '--https-port', String(https)],
    ...['--disable-agent', '--etcd-client-port', String(client), '--etcd-peer-port', String(peer)],
  ];
  let child: ChildProcess | undefined;
  const control = (command: string, ...args: string[]) => keelson([command, ...args, '--data-dir', dataDir]);
  const server: OwnServer = {
    name,
    url: `https://${address}:${https}`,
    dataDir,
    keelson: ([command = '', ...args]) => control(command, ...args),
    async start(options = []) {
      const started = spawn(process.execPath, [keelsonProgram, 'server', ...own, ...options], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = started;
      let said = '';
      for (const stream of [started.stdout, started.stderr])
        stream.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-4000)));
      const over = new AbortController();
      started.once('exit', () => over.abort(new Error(`${name} ended: ${said}`)));
      await answers(server, over.signal);
    },
    client: async () =>
      createRestClient(await loadKubeconfig({ ...platform, userAgent: 'test' }, join(dataDir, 'admin.kubeconfig'))),
    async kill() {
      const running = child;
      if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
      const gone = new Promise((resolve) => running.once('exit', resolve));
      running.kill('SIGKILL');
      await gone;
    },
    etcdPid: () => processWith(join(dataDir, 'etcd/data')),
    async remove() {
      await server.kill();
      const pid = server.etcdPid();
      if (pid !== undefined) await end(pid);
      platform.close();
      for (const path of [dataDir, `/run/keelson/${instanceHash(dataDir, (text) => platform.crypto.sha256Hex(text))}`])
        await rm(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return server;
}

/** Resolves when its API is ready; rejects with the signal's reason when that aborts first. */
async function answers(server: OwnServer, over: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + 180_000;
  for (;;) {
    const ready = await server
      .client()
      .then((client) => client.raw({ method: 'GET', path: '/readyz' }))
      .then(() => true)
      .catch(() => false);
    over.throwIfAborted();
    if (ready) return;
    if (performance.now() > deadlineMs) throw new Error(`${server.name} is not ready`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Ends a process that is no child of ours; resolves when it has ended. */
async function end(pid: number): Promise<void> {
  await until('its etcd ends', async () => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      return true; // the process does not exist any more
    }
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === ''; // a process without a command line has ended and was not reaped
  });
}

function processWith(argument: string): number | undefined {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(argument)) return Number(name);
    } catch {
      continue; // it has ended meanwhile
    }
  }
  return undefined;
}
