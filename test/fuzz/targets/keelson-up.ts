// `keelson up --simulate --nodes 1` as a process of its own, from the bundle, with the objects that exchanges meet.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseYaml } from '../../../src/api/codec/yaml.ts';
import { freePort } from '../../../src/platform/node/free-port-fixture.ts';
import { keelsonProgram } from '../../integration/fixtures/programs.ts';
import type { Access } from '../transports/access.ts';

const IMAGES = `
"i:1":
  logs: [ready]
  exec: { exitCode: 3, stdout: "output" }
  http: { status: 200, body: hello }
`;

export interface Target {
  readonly access: Access;
  readonly pid: number;
  /** Its data directory is `data` in it. */
  readonly folder: string;
  /** What it wrote so far. */
  log(): string;
  /** How it ended; undefined while it runs. */
  ended(): string | undefined;
  /** Stops it and starts it again on the same data. */
  restart(): Promise<Target>;
  stop(): Promise<void>;
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Record<string, string> }];
  readonly users: readonly [{ readonly user: Record<string, string> }];
}

async function readAccess(file: string, port: number): Promise<Access> {
  const { clusters, users } = parseYaml(await readFile(file, 'utf8')).value as unknown as Kubeconfig;
  const decoded = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
  const [{ cluster }, { user }] = [clusters[0], users[0]];
  return {
    host: '127.0.0.1',
    port,
    tls: {
      ca: decoded(cluster['certificate-authority-data']),
      cert: decoded(user['client-certificate-data']),
      key: decoded(user['client-key-data']),
    },
  };
}

/** Starts it in a new folder; resolves when its administrator's credentials are there. */
export async function startKeelsonUp(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-fuzz-'));
  await writeFile(join(folder, 'images.yaml'), IMAGES);
  return run(folder);
}

async function run(folder: string): Promise<Target> {
  const port = await freePort();
  const dataDir = join(folder, 'data');
  const args = [
    ...['up', '--simulate', '--nodes=1', `--data-dir=${dataDir}`, `--https-port=${port}`, '--log-level=warn'],
    ...[`--images=${folder}/images.yaml`, '--runtime-config=api/all=true'],
  ];
  const child = spawn(process.execPath, [keelsonProgram, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-4_000_000)));
  const ended = endOf(child);
  const stop = (): Promise<void> => stopped(child);
  try {
    const access = await firstAccess(join(dataDir, 'admin.kubeconfig'), port, () => {
      if (ended() !== undefined) throw new Error(`keelson up ended with ${ended()}: ${log}`);
    });
    return {
      access,
      pid: child.pid!,
      folder,
      log: () => log,
      ended,
      async restart() {
        await stop();
        return run(folder);
      },
      async stop() {
        await stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function endOf(child: ChildProcess): () => string | undefined {
  return () =>
    child.exitCode === null && child.signalCode === null
      ? undefined
      : `${child.signalCode ?? `exit code ${child.exitCode}`}`;
}

async function stopped(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await gone;
}

async function firstAccess(file: string, port: number, check: () => void): Promise<Access> {
  for (;;) {
    check();
    try {
      return await readAccess(file, port);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await pause(50);
    }
  }
}
