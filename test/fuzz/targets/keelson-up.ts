// `keelson up --simulate --nodes 1` as a separate process from the bundle, with the objects that exchanges refer to.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseYaml } from '../../../src/api/codec/yaml.ts';
import { freePort } from '../../../src/platform/node/free-port-fixture.ts';
import type { TcpAccess } from '../transports/access.ts';
import { apiServerChecks, type Written } from './api-server-checks.ts';
import { startProgram } from './program.ts';
import type { Target } from './target.ts';

const IMAGES = `
"i:1":
  logs: [ready]
  exec: { exitCode: 3, stdout: "output" }
  http: { status: 200, body: hello }
`;

/** The target with its administrator's access. */
export interface KeelsonUp extends Target {
  readonly access: TcpAccess;
}

interface Kubeconfig {
  readonly users: readonly [{ readonly user: Record<string, string> }];
}

async function readAccess(file: string, port: number): Promise<TcpAccess> {
  const { users } = parseYaml(await readFile(file, 'utf8')).value as unknown as Kubeconfig;
  const decoded = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
  const [{ user }] = users;
  return {
    host: '127.0.0.1',
    port,
    tls: {
      // With the authority set, Node.js sends it along with the certificate, and OpenSSL 3.5 keeps a copy for each connection.
      rejectUnauthorized: false,
      cert: decoded(user['client-certificate-data']),
      key: decoded(user['client-key-data']),
    },
  };
}

/** Starts it in a new folder; resolves when its administrator's credentials exist. */
export async function startKeelsonUp(): Promise<KeelsonUp> {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-fuzz-'));
  await writeFile(join(folder, 'images.yaml'), IMAGES);
  return run(folder, { count: 0 });
}

async function run(folder: string, written: Written): Promise<KeelsonUp> {
  const port = await freePort();
  const dataDir = join(folder, 'data');
  const program = startProgram([
    ...['up', '--simulate', '--nodes=1', `--data-dir=${dataDir}`, `--https-port=${port}`, '--log-level=warn'],
    ...[`--images=${folder}/images.yaml`, '--runtime-config=api/all=true'],
  ]);
  try {
    const access = await firstAccess(join(dataDir, 'admin.kubeconfig'), port, () => {
      if (program.ended() !== undefined) throw new Error(`keelson up ended with ${program.ended()}: ${program.log()}`);
    });
    return {
      ...program,
      access,
      folder,
      checks: apiServerChecks(access, written),
      async restart() {
        await program.stop();
        return run(folder, written);
      },
      async stop() {
        await program.stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await program.stop();
    throw error;
  }
}

async function firstAccess(file: string, port: number, check: () => void): Promise<TcpAccess> {
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
