// Whether a control plane retains memory of deleted objects: definitions with rules, their objects, workloads, namespaces.
//
//   npm run bench:churn -- [--minutes 15] [--definitions 10] [--rest 30] [--every 1] [--calm 0] [--alive] [--snapshots DIRECTORY]
// A simulated cluster of three nodes. Each round creates all objects with new names, deletes them, rests and prints the process's
// private pages and the store's size. At the end it prints by how much both grow per hour, after the first third of the rounds.
// V8 keeps pages that it emptied, so the pages follow the highest peak so far, which a busy machine raises. `--alive` collects
// garbage after each round and prints the live memory instead, the measure of what is retained. Bounded caches fill sooner with a
// shorter `--rest` (seconds between rounds); `--every 4 --calm 90` measures after four rounds and 90 further seconds, when the
// changes that are kept for watches (75 s) are gone. `--snapshots` writes a heap snapshot after rounds 1, 2, 4, 8, 16 and so on.
// A request that fails or times out is repeated, as clients of a busy server do.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { definitionOf, largeSpec, rulesOf } from '../test/world/definition.ts';
import type { KubeClient } from '../tools/up/kube-client.ts';
import { measureAlive, writeSnapshot } from './run/alive.ts';
import { createBenchInstance } from './run/instance.ts';
import { persist, persistentClient } from './run/persistent-client.ts';
import { inParallel, sleep, until } from './run/wait.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '15' },
    definitions: { type: 'string', default: '10' },
    rest: { type: 'string', default: '30' },
    every: { type: 'string', default: '1' },
    calm: { type: 'string', default: '0' },
    alive: { type: 'boolean', default: false },
    snapshots: { type: 'string', default: '' },
  },
});
const OBJECTS = 20;
const REPLICAS = 30;
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Sample {
  readonly minutes: number;
  readonly megabytes: number;
  readonly storeMegabytes: number;
}

async function round(client: KubeClient, number: number): Promise<void> {
  const namespace = `churn-${number}`;
  const count = Number(values.definitions);
  const kindOf = (index: number): string => `Churn${number}x${index}`;
  const pathOf = (index: number): string => `/apis/churn.example/v1/namespaces/${namespace}/churn${number}x${index}s`;
  await persist(client, 'POST', { path: '/api/v1/namespaces', body: { metadata: { name: namespace } } });
  await inParallel({ count, width: 2 }, async (index) => {
    const spec = { ...largeSpec(4, 2), ...rulesOf('!has(self.image) || self.image.size() < 300', 'has(self.policy)') };
    const body = definitionOf({ group: 'churn.example', kind: kindOf(index), versions: [{ name: 'v1', spec }] });
    await persist(client, 'POST', { path: DEFINITIONS, body });
  });
  await inParallel({ count, width: 2 }, async (index) => {
    await until(async () => (await client.send(pathOf(index))).status === 200, {
      what: kindOf(index),
      timeoutMs: 600_000,
      everyMs: 200,
    });
    for (let object = 0; object < OBJECTS; object++) {
      const metadata = { name: `o-${object}` };
      const body = {
        apiVersion: 'churn.example/v1',
        kind: kindOf(index),
        metadata,
        spec: { image: 'a', policy: 'Never' },
      };
      await persist(client, 'POST', { path: pathOf(index), body });
    }
  });
  const labels = { app: namespace };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'churn:1' }] } };
  const deployment = {
    metadata: { name: 'churn' },
    spec: { replicas: REPLICAS, selector: { matchLabels: labels }, template },
  };
  await persist(client, 'POST', { path: `/apis/apps/v1/namespaces/${namespace}/deployments`, body: deployment });
  await client.send('/openapi/v2');
  await sleep(5000);
  await inParallel({ count, width: 2 }, (index) =>
    persist(client, 'DELETE', { path: `${DEFINITIONS}/churn${number}x${index}s.churn.example` }),
  );
  await persist(client, 'DELETE', { path: `/api/v1/namespaces/${namespace}` });
  const isGone = async (path: string): Promise<boolean> => (await client.send(path)).status === 404;
  await until(() => isGone(`/api/v1/namespaces/${namespace}`), { what: 'its end', timeoutMs: 600_000, everyMs: 500 });
}

/** The slope by least squares, per hour. */
function slope(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
  const x = mean(samples.map(({ minutes }) => minutes));
  const y = mean(samples.map(of));
  const covariance = mean(samples.map((sample) => (sample.minutes - x) * (of(sample) - y)));
  return (60 * covariance) / mean(samples.map(({ minutes }) => (minutes - x) ** 2));
}

/** The process's private pages, or its live memory. */
async function measure(): Promise<number> {
  if (values.alive) {
    const { heap, external } = await measureAlive(`${instance.dataDir}.log`);
    console.log(`  objects ${heap.toFixed(1)} MB, outside of the heap ${external.toFixed(1)} MB`);
    return heap + external;
  }
  const status = readFileSync(`/proc/${instance.pid()}/status`, 'utf8');
  return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

const measured = values.alive ? 'alive' : 'own pages';
const nodeArgs = values.alive || values.snapshots !== '' ? ['--inspect=127.0.0.1:0'] : [];
const instance = await createBenchInstance(['--simulate', '--nodes', '3'], nodeArgs);
const samples: Sample[] = [];
try {
  await instance.start();
  const startedMs = performance.now();
  const minutes = (): number => (performance.now() - startedMs) / 60_000;
  for (let number = 0; minutes() < Number(values.minutes); number++) {
    await round(persistentClient(instance.client()), number);
    await sleep(1000 * Number(values.rest));
    if ((number + 1) % Number(values.every) !== 0) continue;
    await sleep(1000 * Number(values.calm));
    const sample = {
      minutes: minutes(),
      megabytes: await measure(),
      storeMegabytes: statSync(join(instance.dataDir, 'state.db')).size / 1024 / 1024,
    };
    samples.push(sample);
    if (values.snapshots !== '' && Math.log2(number + 1) % 1 === 0)
      await writeSnapshot(`${instance.dataDir}.log`, join(values.snapshots, `round-${number + 1}.heapsnapshot`));
    const [own, store] = [sample.megabytes.toFixed(1), sample.storeMegabytes.toFixed(0)];
    console.log(`round ${number}, ${sample.minutes.toFixed(1)} min: ${measured} ${own} MB, store ${store} MB`);
  }
} finally {
  await instance.remove();
}
const late = samples.slice(Math.ceil(samples.length / 3));
console.log(`${measured}: a rise of ${slope(late, ({ megabytes }) => megabytes).toFixed(1)} MB per hour`);
console.log(`the store rises by ${slope(late, ({ storeMegabytes }) => storeMegabytes).toFixed(1)} MB per hour`);
