/** A simulated cluster started by `keelson up --simulate`, with the kubectl and helm that install projects on it. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HEAP_ENVIRONMENT } from '../../src/cli/heap-environment.ts';
import type { ClusterStatus } from '../../src/cluster/cluster-status.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { helmProgram, kubectlProgram } from '../../tools/kubectl.ts';
import { run, type Said } from '../control-plane/own-servers.ts';
import { keelsonProgram } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';

const PATIENCE_MS = 180_000;

/** The images of Jobs and tests; containers of all others run for ever. */
const IMAGES = ['task:1', 'registry.example/certgen:v1']
  .map((image) => `${image}: { exits: { code: 0, after: 500ms } }\n`)
  .join('');

/** A running cluster. */
export interface World {
  readonly folder: string;
  /** Runs kubectl as the administrator; does not reject for a failed command. */
  kubectl(args: readonly string[], input?: string): Promise<Said>;
  helm(args: readonly string[]): Promise<Said>;
  memory(): Promise<WorldMemory>;
  store(): Promise<WorldStore>;
  stop(): Promise<void>;
}

/** Memory of the server's process in bytes. */
export interface WorldMemory {
  /** Private pages. File pages are not counted: processes share them, and the kernel can drop them. */
  readonly resident: number;
  /** V8's objects and what they hold outside its heap. */
  readonly alive: number;
}

/** The store on disk in bytes. */
export interface WorldStore {
  /** The file and its log. */
  readonly size: number;
  /** Keys and values of all kept revisions. */
  readonly content: number;
}

/** Starts it with three nodes, and with the C heap settings of a supervised process; resolves when they are Ready. */
export async function startWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-world-'));
  const data = join(folder, 'data');
  const port = await freePort();
  await writeFile(join(folder, 'images.yaml'), IMAGES);
  const args = [
    'up',
    '--simulate',
    '--nodes=3',
    `--data-dir=${data}`,
    `--https-port=${port}`,
    '--log-level=error',
    `--images=${folder}/images.yaml`,
  ];
  const server = spawn(process.execPath, [keelsonProgram, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...HEAP_ENVIRONMENT },
  });
  const kubeconfig = join(data, 'admin.kubeconfig');
  const world: World = {
    folder,
    kubectl: (words, input) =>
      ask(kubectlProgram(), [`--kubeconfig=${kubeconfig}`, `--cache-dir=${folder}/cache`, ...words], folder, input),
    helm: (words) => ask(helmProgram(), ['--kubeconfig', kubeconfig, ...words], folder),
    memory: async () => {
      const { pid, aliveMemoryBytes } = await statusOf(data);
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      return { resident: kilobytes(status, 'RssAnon') * 1024, alive: aliveMemoryBytes };
    },
    store: async () => {
      const file = join(data, 'state.db');
      return { size: (await sizeOf(file)) + (await sizeOf(`${file}-wal`)), content: await contentOf(file, folder) };
    },
    stop: () => stop(server, folder),
  };
  await until('three nodes are Ready', async () => {
    assert.equal(server.exitCode, null);
    const { stdout } = await world.kubectl(['get', 'nodes', '--no-headers']);
    return stdout.match(/ Ready /g)?.length === 3;
  });
  return world;
}

function ask(program: string, args: readonly string[], home: string, input = ''): Promise<Said> {
  return new Promise((resolve) => {
    const env = { PATH: process.env['PATH'], HOME: home };
    const options = { timeout: PATIENCE_MS, maxBuffer: 64 * 1024 * 1024, env, cwd: home };
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 255), stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}

/** The status that the serving process reports. */
async function statusOf(data: string): Promise<ClusterStatus> {
  const { stdout } = await run(process.execPath, [keelsonProgram, 'status', `--data-dir=${data}`, '--output=json']);
  return JSON.parse(stdout) as ClusterStatus;
}

function kilobytes(text: string, name: string): number {
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1]);
}

/** Reads a copy, because the server locks its file. */
async function contentOf(file: string, folder: string): Promise<number> {
  const copy = join(folder, 'copy.db');
  for (const part of ['', '-wal'])
    await copyFile(`${file}${part}`, `${copy}${part}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' || part === '') throw error;
    });
  const database = new DatabaseSync(copy);
  try {
    const row = database.prepare('SELECT sum(length(key) + ifnull(length(value), 0)) AS bytes FROM change').get();
    return Number(row!['bytes']);
  } finally {
    database.close();
    for (const part of ['', '-wal', '-shm']) await rm(`${copy}${part}`, { force: true });
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => ({ size: 0 }))).size;
}

async function stop(server: ChildProcess, folder: string): Promise<void> {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  if (server.exitCode === null && server.kill('SIGTERM')) await ended;
  await rm(folder, { recursive: true, maxRetries: 5 });
}
