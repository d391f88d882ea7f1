/**
 * Repeated kill -9 of the whole process under write load: it restarts by itself, and no acknowledged write is lost. KEELSON_KILLS
 * is the number of kills (3); `npm run test:kills` uses a hundred.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigMaps } from '../../src/api/gen/resources.ts';
import type { Client } from '../../src/client/client.ts';
import { createKubeconfigClient } from '../../src/client/kubeconfig.ts';
import { createNodePlatform } from '../../src/platform/node/node-platform.ts';
import { createSeededRandom } from '../../src/platform/sim/random.ts';
import { parentOf, supervisedCluster } from './supervised.ts';
import { readFileSync } from 'node:fs';
import { until } from '../integration/fixtures/until.ts';

const kills = Number(process.env['KEELSON_KILLS'] ?? 3);
const seed = process.env['KEELSON_SEED'] ?? '1';
const WRITERS = 8;
const NAMESPACE = 'default';

/** Creates objects and increments a counter continuously; records the acknowledged writes. */
async function write(client: Client, writer: number, load: Load): Promise<void> {
  const maps = client.resource(ConfigMaps);
  const counter = { name: `counter-${writer}`, namespace: NAMESPACE };
  for (let round = 1; !load.stopped; round++) {
    const name = `kill-${writer}-${round}`;
    try {
      await maps.create({ metadata: { name, namespace: NAMESPACE }, data: { round: String(round) } });
      load.created.set(name, String(round));
      const data = { round: String(round) };
      const patched = await maps.patch(counter, { type: 'merge', patch: { data } });
      load.counters.set(counter.name, Number(patched.data?.['round']));
    } catch {
      await sleep(20); // The server is away; the outcome of the write is unknown.
    }
  }
}

interface Load {
  stopped: boolean;
  readonly created: Map<string, string>;
  readonly counters: Map<string, number>;
}

/** On any machine, a kill happens amid writes. */
const WRITES_BETWEEN_KILLS = 20;

const milliseconds = (times: readonly number[], part: number): number =>
  Math.round(times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);

test(
  `${kills} kills under load: it restarts by itself, and no acknowledged write is lost`,
  { timeout: 60_000 + kills * 20_000 },
  async (t) => {
    const cluster = await supervisedCluster({ KEELSON_HEALTHY_SECONDS: '0' });
    const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
    t.after(() => cluster.remove());
    t.after(() => platform.close());
    const alive = setInterval(() => undefined, 1000);
    t.after(() => clearInterval(alive));
    assert.equal((await cluster.up()).code, 0);
    const supervisor = parentOf((await cluster.status())!.pid);
    const child = (): number =>
      Number(readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8').trim().split(' ')[0]);
    const client = await createKubeconfigClient(
      { ...platform, userAgent: 'kills' },
      join(cluster.dataDir, 'admin.kubeconfig'),
    );
    const load: Load = { stopped: false, created: new Map(), counters: new Map() };
    for (let writer = 0; writer < WRITERS; writer++) {
      const metadata = { name: `counter-${writer}`, namespace: NAMESPACE };
      await client.resource(ConfigMaps).create({ metadata, data: { round: '0' } });
    }
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(client, writer, load));
    const random = createSeededRandom(seed);
    const times: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const unkilled = load.created.size;
      await until('a load to kill', async () => load.created.size >= unkilled + WRITES_BETWEEN_KILLS);
      await sleep(random.int(600));
      const killedMs = performance.now();
      process.kill(child(), 'SIGKILL');
      const before = load.created.size;
      await until('a write after the kill', async () => load.created.size > before);
      times.push(performance.now() - killedMs);
    }
    load.stopped = true;
    await Promise.all(writers);
    const kept = new Map<string, string | undefined>();
    // A response that was on its way at the last kill may have ended the wait for the restart early.
    await until('the server lists', async () => {
      for (const { metadata, data } of (await client.resource(ConfigMaps).list({ namespace: NAMESPACE })).items)
        kept.set(metadata.name ?? '', data?.['round']);
      return true;
    });
    const lost = [...load.created].filter(([name, round]) => kept.get(name) !== round);
    const behind = [...load.counters].filter(([name, round]) => Number(kept.get(name)) < round);
    t.diagnostic(
      `${load.created.size} writes acknowledged, ${lost.length + behind.length} lost; from kill -9 to the next write ` +
        `${milliseconds(times, 0.5)} ms, at most ${milliseconds(times, 1)} ms`,
    );
    assert.deepEqual([lost, behind], [[], []]);
    // A quiet machine takes half a second; other tests may share this one.
    assert.ok(milliseconds(times, 0.5) < 10_000, times.join());
    assert.equal((await cluster.status())?.restarts?.count, kills);
  },
);
