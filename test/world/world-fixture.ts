/** A simulated cluster as `keelson up --simulate` starts it, and the kubectl and helm that install projects on it. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { helmProgram, kubectlProgram } from '../../tools/kubectl.ts';
import { run, type Said } from '../control-plane/own-servers.ts';
import { keelsonProgram } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';

const PATIENCE_MS = 180_000;

/** What Jobs and tests run; every other image runs for ever. */
const IMAGES = ['task:1', 'registry.example/certgen:v1']
  .map((image) => `${image}: { exits: { code: 0, after: 500ms } }\n`)
  .join('');

/** A running cluster. */
export interface World {
  readonly folder: string;
  /** Runs kubectl as the administrator; never rejects for a failing command. */
  kubectl(args: readonly string[], input?: string): Promise<Said>;
  helm(args: readonly string[]): Promise<Said>;
  /** Bytes in memory of the process, without files. */
  residentBytes(): Promise<number>;
  /** Bytes of the store's file and its log. */
  storeBytes(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts it with three nodes; resolves when they are Ready. */
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
  const server = spawn(process.execPath, [keelsonProgram, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  const kubeconfig = join(data, 'admin.kubeconfig');
  const world: World = {
    folder,
    kubectl: (words, input) =>
      ask(kubectlProgram(), [`--kubeconfig=${kubeconfig}`, `--cache-dir=${folder}/cache`, ...words], folder, input),
    helm: (words) => ask(helmProgram(), ['--kubeconfig', kubeconfig, ...words], folder),
    residentBytes: async () => kilobytes(await readFile(`/proc/${await pidOf(data)}/status`, 'utf8'), 'RssAnon') * 1024,
    storeBytes: async () => (await sizeOf(join(data, 'state.db'))) + (await sizeOf(join(data, 'state.db-wal'))),
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

/** The process that serves, which a supervisor may have started. */
async function pidOf(data: string): Promise<number> {
  const { stdout } = await run(process.execPath, [keelsonProgram, 'status', `--data-dir=${data}`, '--output=json']);
  return (JSON.parse(stdout) as { pid: number }).pid;
}

function kilobytes(text: string, name: string): number {
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1]);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => ({ size: 0 }))).size;
}

async function stop(server: ChildProcess, folder: string): Promise<void> {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  if (server.exitCode === null && server.kill('SIGTERM')) await ended;
  await rm(folder, { recursive: true, maxRetries: 5 });
}
