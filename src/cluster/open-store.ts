/** Opens the store a cluster keeps its state in, with errors in the user's words. */
import type { Platform } from '../platform/platform.ts';
import { StoreError, type Store } from '../storage/store.ts';
import { PreflightError } from './preflight.ts';
import type { EtcdStoreChoice, StoreChoice } from './store-options.ts';

/** Opens it; each kind is loaded only when it is used. `file` is for SQLite. */
export async function openStore(
  platform: Pick<Platform, 'clock' | 'random' | 'files'>,
  { choice, file }: { readonly choice: StoreChoice; readonly file: string },
): Promise<Store> {
  try {
    if (choice.kind === 'etcd') return await openEtcd(platform, choice);
    if (choice.kind === 'memory') {
      const { createMemoryStore } = await import('../storage/memory/memory-store.ts');
      return createMemoryStore({ clock: platform.clock });
    }
    const { createSqliteStore } = await import('../storage/sqlite/sqlite-store.ts');
    return await createSqliteStore({ path: file, platform });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const what = choice.kind === 'etcd' ? choice.endpoints.join(',') : file;
    throw new PreflightError(`cannot open the store ${what}: ${error.message}`);
  }
}

async function openEtcd(
  platform: Pick<Platform, 'clock' | 'random' | 'files'>,
  { endpoints, caFile, certFile, keyFile, prefix }: EtcdStoreChoice,
): Promise<Store> {
  const read = async (path: string | undefined): Promise<string | undefined> => {
    if (path === undefined) return undefined;
    try {
      return await platform.files.readText(path);
    } catch (error) {
      throw new PreflightError(`cannot read ${path}: ${(error as Error).message}`);
    }
  };
  const [caPem, certPem, keyPem] = await Promise.all([read(caFile), read(certFile), read(keyFile)]);
  const { createEtcdStore } = await import('../storage/etcd/etcd-store.ts');
  return createEtcdStore({
    endpoints: endpoints.map((url) => new URL(url).origin),
    tls: {
      ...(caPem === undefined ? {} : { caPem }),
      ...(certPem === undefined ? {} : { certPem }),
      ...(keyPem === undefined ? {} : { keyPem }),
    },
    ...(prefix === undefined ? {} : { prefix }),
    platform,
  });
}
