import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods, ReplicationControllers } from '../../api/gen/resources.ts';
import type { ReplicationController } from '../../api/gen/core-v1.ts';
import type { Client } from '../../client/client.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
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

async function start(replicas = 3): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 1, images: [image('web:1'), image('web:2')] });
  await cluster.apply([controller('old', '1', replicas)]);
  await cluster.waitFor<ReplicationController>('rc/old', ({ status }) => status?.readyReplicas === replicas);
  return cluster;
}

/** Runs an update while the cluster's time advances; returns each line of output with the number of pods at that time. */
async function roll(
  cluster: Cluster,
  next: ReplicationController,
  lines: string[],
  stop = new AbortController(),
): Promise<void> {
  let ended = false;
  const deps = { client: cluster.client, clock: cluster.clock, print: (line: string) => void lines.push(line) };
  const running = rollingUpdate(deps, request(next), stop.signal).finally(() => void (ended = true));
  running.catch(() => undefined);
  while (!ended) await cluster.advance('1s');
  await running;
}

test('pods are replaced one by one without losing any, and the old controller is deleted', async () => {
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

test('an interrupted update resumes where it stopped', async () => {
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

/** Breaks off at the n-th call that writes, before or after the server has done it. */
function breakingOff(client: Client, at: number, stage: 'before' | 'after'): Client {
  let writes = 0;
  const counted = async <T>(call: () => Promise<T>): Promise<T> => {
    const meets = ++writes === at;
    if (meets && stage === 'before') throw new Error('killed');
    const result = await call();
    if (meets) throw new Error('killed');
    return result;
  };
  const verbs = new Set<PropertyKey>(['create', 'update', 'patch', 'delete']);
  return {
    ...client,
    resource: (info) =>
      new Proxy(client.resource(info), {
        get: (target, name) => {
          const call = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
          return verbs.has(name) ? (...args: unknown[]) => counted(() => call.apply(target, args)) : call.bind(target);
        },
      }),
  };
}

// Created, noted, four sizes, forgotten, deleted.
const WRITES = 8;

test('an update killed before or after any write resumes to the same end with never a pod too many or too few', async () => {
  for (const stage of ['before', 'after'] as const)
    for (let at = 1; at <= WRITES; at++) {
      await using cluster = await start(2);
      cluster.image('web:2', { start: '5s' });
      const next = controller('new', '2', 2);
      const what = `${stage} write ${at}`;
      const client = breakingOff(cluster.client, at, stage);
      await assert.rejects(rollAndCount(cluster, next, client), /killed/, what);
      const { rest } = await rollAndCount(cluster, next, cluster.client).catch((error: Error) => {
        // Killed between its last write and its end: there is nothing left to do.
        assert.deepEqual([what, error.message], [`after write ${WRITES}`, 'replicationcontrollers "old" not found']);
        return { rest: 0 };
      });
      assert.equal(rest, 0, what);
      const { items } = await cluster.client.resource(ReplicationControllers).list({ namespace: 'default' });
      assert.deepEqual(
        items.map(({ metadata, status }) => [metadata.name, status?.readyReplicas, metadata.annotations]),
        [['new', 2, undefined]],
        what,
      );
    }
});

/** Rolls and counts pods meanwhile; `rest` are the pods that were too many or too few at any time. */
async function rollAndCount(
  cluster: Cluster,
  next: ReplicationController,
  client: Client,
): Promise<{ readonly rest: number }> {
  let ended = false;
  let rest = 0;
  const deps = { client, clock: cluster.clock, print: () => undefined };
  const running = rollingUpdate(deps, request(next), new AbortController().signal).finally(() => void (ended = true));
  running.catch(() => undefined);
  while (!ended) {
    await cluster.advance('500ms');
    const pods = cluster.peek(Pods).filter(({ metadata }) => metadata.namespace === 'default');
    const ready = pods.filter(isPodReady).length;
    rest = Math.max(rest, pods.length - 3, 2 - ready);
  }
  await running;
  return { rest };
}

test('an impossible update is refused before anything changes', async () => {
  await using cluster = await start();
  const cases: [ReplicationController, RegExp][] = [
    [controller('old', '2', 3), /cannot have the same name as the existing ReplicationController old/],
    [controller('new', '1', 3), /must specify a matching key with non-equal value in Selector for old/],
  ];
  for (const [next, message] of cases) await assert.rejects(roll(cluster, next, []), message);
  const { items } = await cluster.client.resource(ReplicationControllers).list({ namespace: 'default' });
  assert.equal(items.length, 1);
});
