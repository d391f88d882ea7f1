import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReplicationControllers } from '../../api/gen/resources.ts';
import type { ReplicationController } from '../../api/gen/core-v1.ts';
import { Cluster, image } from '../../testing/index.ts';
import { rollingUpdate, type RollRequest } from './roll.ts';

const controller = (name: string, version: string, replicas: number): ReplicationController => ({
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    selector: { app: 'web', version },
    template: {
      metadata: { labels: { app: 'web', version } },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: `web:${version}` }] },
    },
  },
});

const request = (next: ReplicationController): RollRequest => ({
  namespace: 'default',
  oldName: 'old',
  next,
  updatePeriodMs: 1000,
  pollIntervalMs: 100,
  timeoutMs: 60_000,
});

async function start(): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 1, images: [image('web:1'), image('web:2')] });
  await cluster.apply([controller('old', '1', 3)]);
  await cluster.waitFor<ReplicationController>('rc/old', ({ status }) => status?.readyReplicas === 3);
  return cluster;
}

/** Runs an update while the cluster's time goes on; what was said, and how many pods there were at each line. */
async function roll(
  cluster: Cluster,
  next: ReplicationController,
  lines: string[],
  stop = new AbortController(),
): Promise<void> {
  let ended = false;
  const deps = { client: cluster.client, clock: cluster.clock, say: (line: string) => void lines.push(line) };
  const running = rollingUpdate(deps, request(next), stop.signal).finally(() => void (ended = true));
  running.catch(() => undefined);
  while (!ended) await cluster.advance('1s');
  await running;
}

test('one pod after the other, never fewer, and the old one is gone', async () => {
  await using cluster = await start();
  const lines: string[] = [];
  await roll(cluster, controller('new', '2', 3), lines);
  assert.deepEqual(lines, [
    'Created new',
    "Scaling up new from 0 to 3, scaling down old from 3 to 0 (keep 3 pods available, don't exceed 4 pods)",
    'Scaling new up to 1',
    'Scaling old down to 2',
    'Scaling new up to 2',
    'Scaling old down to 1',
    'Scaling new up to 3',
    'Scaling old down to 0',
    'Update succeeded. Deleting old',
  ]);
  const { items } = await cluster.client.resource(ReplicationControllers).list({ namespace: 'default' });
  assert.deepEqual(
    items.map(({ metadata, status }) => [metadata.name, status?.readyReplicas, metadata.annotations]),
    [['new', 3, undefined]],
  );
});

test('an interrupted update goes on where it stopped', async () => {
  await using cluster = await start();
  const first: string[] = [];
  const stop = new AbortController();
  const next = controller('new', '2', 3);
  first.push = (line) => {
    if (line === 'Scaling old down to 2') stop.abort(new Error('interrupted'));
    return Array.prototype.push.call(first, line);
  };
  await assert.rejects(roll(cluster, next, first, stop), /interrupted/);
  const second: string[] = [];
  await roll(cluster, next, second);
  assert.equal(second[0], 'Found existing update in progress (new), resuming.');
  assert.match(second[1] ?? '', /^Scaling up new from 1 to 3, scaling down old from [23] to 0 \(keep 3 pods/);
  assert.equal(second.at(-1), 'Update succeeded. Deleting old');
});

test('what cannot work is refused before anything changes', async () => {
  await using cluster = await start();
  const cases: [ReplicationController, RegExp][] = [
    [controller('old', '2', 3), /cannot have the same name as the existing ReplicationController old/],
    [controller('new', '1', 3), /must specify a matching key with non-equal value in Selector for old/],
  ];
  for (const [next, message] of cases) await assert.rejects(roll(cluster, next, []), message);
  const { items } = await cluster.client.resource(ReplicationControllers).list({ namespace: 'default' });
  assert.equal(items.length, 1);
});
