/**
 * A real S3 server for tests: s3rver from npm, behind a proxy that verifies signatures. It has a hundred dependencies, so it is
 * not among the package's: it is fetched into the checkout's .cache once, without install scripts.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { until } from '../integration/fixtures/until.ts';
import { startSignatureProxy } from './s3-signature-proxy.ts';

const VERSION = '3.7.1';
const FETCH_TIMEOUT_MS = 240_000;

/** The keys of s3rver. */
export const S3_KEYS = { accessKey: 'S3RVER', secretKey: 'S3RVER' } as const;

export interface S3Server {
  /** `127.0.0.1:port`. */
  readonly endpoint: string;
  /** The folder with a subfolder for each bucket. */
  readonly folder: string;
  stop(): Promise<void>;
}

/** The reason why there is no S3 server here, or false. */
export async function withoutS3(): Promise<string | false> {
  const root = join(repositoryRoot, `.cache/s3rver-${VERSION}`);
  if (existsSync(programOf(root))) return false;
  const flags = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', root];
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
  try {
    await promisify(execFile)('npm', [...flags, `s3rver@${VERSION}`], { env, timeout: FETCH_TIMEOUT_MS });
    return false;
  } catch (error) {
    return `s3rver cannot be fetched: ${(error as Error).message.split('\n')[0]}`;
  }
}

/** Starts it with these buckets. */
export async function startS3(...buckets: readonly string[]): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-s3-'));
  const [port, own] = [await freePort(), await freePort()];
  const program = programOf(join(repositoryRoot, `.cache/s3rver-${VERSION}`));
  const flags = ['--directory', folder, '--address', '127.0.0.1', '--port', String(own), '--silent'];
  const child = spawn(
    process.execPath,
    [program, ...flags, ...buckets.flatMap((name) => ['--configure-bucket', name])],
    {
      stdio: 'ignore',
    },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await until('S3 answers', async () => (await fetch(`http://127.0.0.1:${own}/`)).status > 0);
  const proxy = await startSignatureProxy(port, own, S3_KEYS);
  return {
    endpoint: `127.0.0.1:${port}`,
    folder,
    async stop() {
      proxy.closeAllConnections();
      proxy.close();
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function programOf(root: string): string {
  return join(root, 'node_modules/s3rver/bin/s3rver.js');
}
