/** Opens the store a cluster keeps its state in, with errors in the user's words. */
import { errorMessage } from '../../base/errors.ts';
import type { GrpcTls } from '../../grpc/grpc-target.ts';
import type { Platform } from '../../platform/platform.ts';
import type { EtcdStoreOptions } from '../../storage/etcd/etcd-store.ts';
import { type Store, StoreError } from '../../storage/store.ts';
import { PreflightError } from '../preflight-error.ts';
import { type EncryptionChoice, encryptStore } from './encryption.ts';
import type { EtcdStoreChoice, StoreChoice } from './store-options.ts';

/** The store to open: `file` is for SQLite. */
export interface StoreOpening {
  readonly choice: StoreChoice;
  readonly file: string;
  readonly encryption?: EncryptionChoice;
  /** Whether a change log is kept (`--snapshot-log`). */
  readonly hasLog?: boolean;
  /** Wraps the store itself, below its encryption. */
  wrap?(store: Store): Store;
}

/** With encryption in front if configured. Each kind of store is loaded only when it is used. */
export async function openStore(platform: Platform, { encryption, wrap, ...opening }: StoreOpening): Promise<Store> {
  const plain = await openPlain(platform, opening);
  const store = wrap === undefined ? plain : wrap(plain);
  return encryption === undefined ? store : encrypted(platform, store, encryption);
}

async function encrypted(platform: Platform, store: Store, choice: EncryptionChoice): Promise<Store> {
  try {
    return await encryptStore(platform, store, choice);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Copies a running store to a new file. Rejects where there is nothing to copy. */
export async function backupStore(store: Store | undefined, file: string): Promise<void> {
  if (store === undefined) throw new PreflightError('the cluster is starting; try again when it runs');
  if (store.backup === undefined)
    throw new PreflightError(
      store.latestRevision === undefined
        ? 'a memory store is gone with its process: there is nothing to save'
        : 'the state is in etcd: use keelson snapshot save --store etcd=URL,...',
    );
  await store.backup(file);
}

async function openPlain(platform: Platform, { choice, file, hasLog = false }: StoreOpening): Promise<Store> {
  try {
    if (choice.kind === 'etcd') return await openEtcd(platform, choice);
    if (choice.kind === 'memory') {
      const { createMemoryStore } = await import('../../storage/memory/memory-store.ts');
      return createMemoryStore(platform);
    }
    const { createSqliteStore } = await import('../../storage/sqlite/sqlite-store.ts');
    return await createSqliteStore({ path: file, platform, resumesLog: hasLog });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const what = choice.kind === 'etcd' ? choice.endpoints.join(',') : file;
    throw new PreflightError(`cannot open the store ${what}: ${error.message}`);
  }
}

/** An etcd whose members the server follows. */
export interface OwnEtcdOpening {
  readonly own: Pick<EtcdStoreOptions, 'endpoints' | 'tls' | 'followEndpoints'>;
  readonly encryption?: EncryptionChoice;
}

const QUORUM_RETRY_MS = 500;

/** Opens the store in an etcd of the server's own: waits for its quorum, without which other servers may be starting too. */
export async function openOwnEtcdStore(
  platform: Platform,
  { own, encryption }: OwnEtcdOpening,
  signal: AbortSignal,
): Promise<Store> {
  const { createEtcdStore } = await import('../../storage/etcd/etcd-store.ts');
  for (;;) {
    try {
      const store = await createEtcdStore({ ...own, platform });
      return encryption === undefined ? store : await encrypted(platform, store, encryption);
    } catch (error) {
      if (!(error instanceof StoreError) || signal.aborted) throw error;
      platform.log.warn('waiting for etcd: most of its members must run', { err: error });
      await platform.clock.sleep(QUORUM_RETRY_MS, signal);
    }
  }
}

async function openEtcd(platform: Platform, choice: EtcdStoreChoice): Promise<Store> {
  const config = await etcdConfig((path) => platform.files.readText(path), choice);
  const { createEtcdStore } = await import('../../storage/etcd/etcd-store.ts');
  const { prefix } = choice;
  return createEtcdStore({ ...config, prefix, platform });
}

/** Where etcd is, with the files read. Rejects with `PreflightError`. */
export async function etcdConfig(
  readText: (path: string) => Promise<string>,
  { endpoints, caFile, certFile, keyFile }: EtcdStoreChoice,
): Promise<{ readonly endpoints: readonly string[]; readonly tls: GrpcTls }> {
  const read = async (path: string | undefined): Promise<string | undefined> => {
    if (path === undefined) return undefined;
    try {
      return await readText(path);
    } catch (error) {
      throw new PreflightError(`cannot read ${path}: ${errorMessage(error)}`);
    }
  };
  const [caPem, certPem, keyPem] = await Promise.all([read(caFile), read(certFile), read(keyFile)]);
  return {
    endpoints: endpoints.map((url) => new URL(url).origin),
    tls: {
      caPem,
      certPem,
      keyPem,
    },
  };
}
