/**
 * Durable writes per second of the SQLite store (and, for comparison, of the memory store): `node bench/store.ts [seconds per
 * row]`. Each client updates its own keys with 1.2 KB values by compare-and-swap, one write after the other.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createNodeClock } from '../src/platform/node/clock.ts';
import { createMemoryStore } from '../src/storage/memory/memory-store.ts';
import { createSqliteStore } from '../src/storage/sqlite/sqlite-store.ts';
import type { Store } from '../src/storage/store.ts';

const VALUE_BYTES = 1200;
const KEYS_PER_CLIENT = 100;

async function client(store: Store, name: string, endMs: number): Promise<number> {
  const revisions = new Map<string, number>();
  let writes = 0;
  for (; performance.now() < endMs; writes++) {
    const key = `/bench/${name}/${writes % KEYS_PER_CLIENT}`;
    const result = await store.put({
      key,
      value: new Uint8Array(VALUE_BYTES).fill(writes),
      expectRevision: revisions.get(key) ?? 0,
    });
    if (!result.ok) throw new Error(`lost a compare on ${key}`);
    revisions.set(key, result.revision);
  }
  return writes;
}

async function measure(store: Store, clients: number, seconds: number): Promise<number> {
  const startMs = performance.now();
  const all = Array.from({ length: clients }, (_, index) =>
    client(store, `${clients}-${index}`, startMs + seconds * 1000),
  );
  const writes = (await Promise.all(all)).reduce((sum, each) => sum + each, 0);
  return writes / ((performance.now() - startMs) / 1000);
}

const seconds = Number(process.argv[2] ?? 2);
const folder = await mkdtemp(join(tmpdir(), 'keelson-bench-'));
const clock = createNodeClock();
const stores: Record<string, () => Promise<Store>> = {
  sqlite: () => createSqliteStore({ path: join(folder, 'store.db'), platform: { clock } }),
  memory: async () => createMemoryStore({ clock }),
};
try {
  for (const [name, open] of Object.entries(stores)) {
    const store = await open();
    for (const clients of [1, 16, 64, 256]) {
      const perSecond = Math.round(await measure(store, clients, seconds));
      console.log(
        `${name.padEnd(7)} ${String(clients).padStart(4)} clients  ${String(perSecond).padStart(8)} writes/s`,
      );
    }
    await store.close();
  }
} finally {
  await rm(folder, { recursive: true });
}
