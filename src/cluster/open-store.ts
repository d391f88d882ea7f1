/** Opens the store a cluster keeps its state in, with errors in the user's words. */
import type { Platform } from '../platform/platform.ts';
import { StoreError, type Store } from '../storage/store.ts';
import { PreflightError } from './preflight.ts';

/** Opens it. SQLite is loaded only when it is used. */
export async function openStore(
  platform: Platform,
  options: { kind: 'sqlite' | 'memory'; file: string },
): Promise<Store> {
  if (options.kind === 'memory') {
    const { createMemoryStore } = await import('../storage/memory/memory-store.ts');
    return createMemoryStore({ clock: platform.clock });
  }
  const { createSqliteStore } = await import('../storage/sqlite/sqlite-store.ts');
  try {
    return await createSqliteStore({ path: options.file, platform });
  } catch (error) {
    if (error instanceof StoreError)
      throw new PreflightError(`cannot open the store ${options.file}: ${error.message}`);
    throw error;
  }
}
