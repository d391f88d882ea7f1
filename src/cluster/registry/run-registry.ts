/** Runs a machine's registry: listens on loopback, stores below the data directory, collects garbage every hour. */
import { hasErrorCode } from '../../base/errors.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { HttpHandler, HttpServer } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { background } from '../../platform/unexpected.ts';
import { PreflightError } from '../preflight-error.ts';
import { BlobStore } from './blob-store.ts';
import { collectGarbage } from './collect-garbage.ts';
import type { ReadRegistry } from './peer-access.ts';
import type { PeerRegistries } from './peer-registries.ts';
import { emptyResponse } from './registry-error.ts';
import { createRegistryHandlers } from './registry-handler.ts';
import { Repositories } from './repositories.ts';
import { SHARED_PATH } from './shared-requests.ts';
import { Uploads } from './uploads.ts';

type Deps = Pick<Platform, 'clock' | 'files' | 'listenHttp' | 'log' | 'random'>;

export interface RegistryConfig {
  readonly dataDir: string;
  readonly port: number;
}

const COLLECT_PERIOD_MS = 3_600_000;
/** The first collection waits until the start is over. */
const FIRST_COLLECT_MS = 300_000;
const EXPIRE_PERIOD_MS = 60_000;
const CLOSE_GRACE_MS = 2_000;

export interface RunningRegistry {
  /** Serves reads of other nodes. */
  readonly read: ReadRegistry;
  /** From now on pulls of this node's containerd also use these registries. */
  share(peers: PeerRegistries): void;
  close(): Promise<void>;
}

/** Resolves once it listens. Rejects with `PreflightError` when the port is in use. */
export async function startRegistry(
  platform: Deps,
  { dataDir, port }: RegistryConfig,
  signal: AbortSignal,
): Promise<RunningRegistry> {
  const { clock, files, random } = platform;
  const log = platform.log.child('registry');
  const folder = `${dataDir}/registry`;
  await files.makeDir(folder, { mode: 0o700 });
  const blobs = new BlobStore(files, folder);
  const repositories = new Repositories(files, folder, blobs);
  const uploads = new Uploads({ files, clock, random: random.fork('registry'), blobs }, folder);
  await blobs.open();
  await repositories.open();
  await uploads.open();
  let peers: PeerRegistries | undefined;
  const { local, read } = createRegistryHandlers({ blobs, repositories, uploads }, log, () => peers);
  const servers = await listen(platform, port, local);
  log.info('Images can be pushed to and pulled from this machine', { registry: `localhost:${port}` });
  background(
    log,
    'uploads that rest are not ended',
    repeat(EXPIRE_PERIOD_MS, EXPIRE_PERIOD_MS, () => uploads.expire()),
  );
  background(log, 'the garbage of the registry is not collected', repeat(FIRST_COLLECT_MS, COLLECT_PERIOD_MS, collect));
  return {
    read,
    share(others) {
      peers = others;
    },
    async close() {
      await Promise.all(servers.map((server) => server.close(CLOSE_GRACE_MS)));
    },
  };

  async function collect(): Promise<void> {
    const { manifests, blobs: removed } = await collectGarbage({ repositories, blobs, clock }, signal);
    if (manifests + removed > 0) log.info('Garbage of the registry was removed', { manifests, blobs: removed });
  }
  async function repeat(firstMs: number, periodMs: number, work: () => Promise<void>): Promise<void> {
    for (let waitMs = firstMs; ; waitMs = periodMs) {
      await sleepUnlessAborted(clock, waitMs, signal);
      if (signal.aborted) return;
      await work().catch((error: unknown) => log.warn('The registry cannot be cleaned up', { err: error }));
    }
  }
}

/** Rejects with `PreflightError` when the port is in use, so that a start fails before it changes anything. */
export async function checkRegistryPort(platform: Pick<Platform, 'listenHttp'>, port: number): Promise<void> {
  const servers = await listen(platform, port, () => emptyResponse(503, { connection: 'close' }));
  await Promise.all(servers.map((server) => server.close(0)));
}

/** Listens on the loopback addresses of both families that the machine has. */
async function listen(
  { listenHttp }: Pick<Platform, 'listenHttp'>,
  port: number,
  handler: HttpHandler,
): Promise<HttpServer[]> {
  const servers: HttpServer[] = [];
  for (const host of ['127.0.0.1', '::1'])
    try {
      servers.push(await listenHttp({ host, port }, handler));
    } catch (error) {
      if (host === '::1' && hasErrorCode(error, 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL')) continue;
      await Promise.all(servers.map((server) => server.close(0)));
      if (!hasErrorCode(error, 'EADDRINUSE')) throw error;
      throw new PreflightError(`--registry: port ${port} of ${host} is in use; give another, as in --registry 5002`);
    }
  return servers;
}

/** containerd's `hosts.toml` for the registry: pulls read the content of all nodes, pushes go to this machine. */
export function registryHosts(port: number): Readonly<Record<string, string>> {
  const url = `http://127.0.0.1:${port}`;
  const lines = [
    `server = "${url}"`,
    '',
    `[host."${url}${SHARED_PATH}/v2"]`,
    '  capabilities = ["pull", "resolve"]',
    '  override_path = true',
    '',
    `[host."${url}"]`,
    '  capabilities = ["pull", "resolve", "push"]',
  ];
  return Object.fromEntries([`localhost:${port}`, `127.0.0.1:${port}`].map((host) => [host, lines.join('\n')]));
}
