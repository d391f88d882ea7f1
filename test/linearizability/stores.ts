/** Opens the stores to check, empty. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createNodeRandom } from '../../src/platform/node/random.ts';
import { createMemoryLog } from '../../src/platform/sim/log.ts';
import { startEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { createEtcdStore } from '../../src/storage/etcd/etcd-store.ts';
import { createMemoryStore } from '../../src/storage/memory/memory-store.ts';
import { createSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import type { Store } from '../../src/storage/store.ts';

export type StoreName = 'memory' | 'sqlite' | 'etcd';

/** All. */
export const storeNames: readonly StoreName[] = ['memory', 'sqlite', 'etcd'];

const platform = { clock: createNodeClock(), random: createNodeRandom(), log: createMemoryLog() };

/** One access to the data or, for etcd, two. */
export async function openStores(name: StoreName): Promise<{ stores: Store[]; close(): Promise<void> }> {
  if (name === 'memory') {
    const store = createMemoryStore(platform);
    return { stores: [store], close: () => store.close() };
  }
  if (name === 'sqlite') {
    const folder = await mkdtemp(join(tmpdir(), 'keelson-linearizable-'));
    const store = await createSqliteStore({ path: join(folder, 'state.db'), platform });
    return {
      stores: [store],
      async close() {
        await store.close();
        await rm(folder, { recursive: true });
      },
    };
  }
  const etcd = await startEtcd();
  const open = (): Promise<Store> => createEtcdStore({ endpoints: [etcd.url], platform });
  const stores = [await open(), await open()];
  return {
    stores,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await etcd.stop();
    },
  };
}
