import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deployments, Nodes, Pods, ReplicaSets } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import type { NodeSummary, SummaryPod } from '../metrics-api/node-summaries.ts';
import { Collector } from './collector.ts';
import { CPU, MEMORY, RECEIVED, RESTARTS } from './measures.ts';
import type { RequestState } from './request-rates.ts';
import type { Rings } from './rings.ts';
import { SLOTS } from './timeline.ts';

const NO_REQUESTS: RequestState = {
  reads: { counts: [], total: 0 },
  writes: { counts: [], total: 0 },
  watches: 0,
  clientErrors: 0,
  serverErrors: 0,
  readsInFlight: 0,
  writesInFlight: 0,
  openWatches: 0,
};

/** A pod as its kubelet and the API server have it; tests change it. */
class TestPod {
  node = 'a';
  cores = 0.5;
  received = 0;
  restarts = 0;
  readonly name: string;
  readonly owner: object | undefined;

  constructor(name: string, owner?: object) {
    this.name = name;
    this.owner = owner;
  }

  get uid(): string {
    return `uid-${this.name}`;
  }

  get summary(): SummaryPod {
    return {
      podRef: { namespace: 'x', name: this.name, uid: this.uid },
      containers: [],
      cpu: { time: '', usageNanoCores: this.cores * 1e9 },
      memory: { workingSetBytes: 1000 },
      network: { rxBytes: this.received, txBytes: 0 },
    };
  }
}

function world(pods: readonly TestPod[], nodes = ['a']) {
  const clock = new VirtualClock();
  const objects = createTestObjects();
  const log = createMemoryLog();
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  for (const name of nodes) objects.put(Nodes, { metadata: { name }, status: ready } as never);
  const own = (kind: string, name: string): object => ({
    apiVersion: 'apps/v1',
    kind,
    name,
    uid: name,
    controller: true,
  });
  objects.put(Deployments, { metadata: { name: 'web', namespace: 'x', uid: 'web' } } as never);
  const replicaSet = { name: 'web-1', namespace: 'x', uid: 'web-1', ownerReferences: [own('Deployment', 'web')] };
  objects.put(ReplicaSets, { metadata: replicaSet } as never);
  const store = (pod: TestPod): void =>
    objects.put(Pods, {
      metadata: {
        name: pod.name,
        namespace: 'x',
        uid: pod.uid,
        creationTimestamp: formatTime(clock.nowMs()),
        ...(pod.owner === undefined ? {} : { ownerReferences: [pod.owner] }),
      },
      spec: { nodeName: pod.node, containers: [] },
      status: { containerStatuses: [{ restartCount: pod.restarts }] },
    } as never);
  for (const pod of pods) store(pod);
  const read = { times: [] as number[], nodes: 0 };
  const failing = new Set<string>();
  const all = [...pods];
  let ended = false;
  const collector = new Collector(
    {
      clock,
      log,
      objects: objects.store,
      requests: () => NO_REQUESTS,
      async readSummaries(names, visit) {
        read.times.push(clock.monotonicMs());
        read.nodes += names.length;
        for (const name of names) {
          if (failing.has(name)) continue;
          const own = all.filter(({ node }) => node === name).map(({ summary }) => summary);
          const node = { cpu: { time: '', usageNanoCores: 2e9 }, memory: { workingSetBytes: 5000 } };
          await visit(name, { node, pods: own } satisfies NodeSummary);
        }
      },
    },
    () => (ended = true),
  );
  const values = <S>(rings: Rings<S>, key: string, measure: number) =>
    rings.read(key, measure, collector.timeline.kept());
  return { clock, objects, collector, log, read, failing, all, store, values, ended: () => ended };
}

const OWNED = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'web-1', controller: true };

test('samples are taken at once, after ten seconds, then every half minute, until an hour after the last request', async () => {
  const { clock, collector, read, ended } = world([]);
  const start = clock.monotonicMs();
  await clock.advance(70_000);
  assert.deepEqual(
    read.times.map((at) => at - start),
    [0, 10_000, 30_000, 60_000],
  );
  await clock.advance(3_000_000);
  collector.ask();
  await clock.advance(3_590_000);
  assert.equal(ended(), false);
  await clock.advance(60_000);
  assert.equal(ended(), true);
  const { length } = read.times;
  await clock.advance(600_000);
  assert.equal(read.times.length, length, 'nothing runs on');
  assert.equal(collector.timeline.kept().length, SLOTS - 1);
});

test('nodes, pods, their ReplicaSet and their Deployment have their use', async () => {
  const pods = [new TestPod('one', OWNED), new TestPod('two', OWNED), new TestPod('alone')];
  const { clock, collector, values } = world(pods);
  const { rings } = collector;
  await clock.advance(10_000);
  pods[0]!.received = 40_000;
  pods[0]!.cores = 1;
  await clock.advance(20_000);
  assert.deepEqual(values(rings.pods, 'uid-one', CPU), [0.5, 0.5, 1]);
  assert.deepEqual(values(rings.pods, 'uid-one', RECEIVED), [NaN, 0, 2000]);
  assert.deepEqual(values(rings.nodes, 'a', CPU), [2, 2, 2]);
  assert.deepEqual(values(rings.workloads, 'web-1', MEMORY), [2000, 2000, 2000]);
  assert.deepEqual(values(rings.workloads, 'web', CPU), [1, 1, 1.5]);
  assert.deepEqual(
    [...rings.workloads.subjects()].map(({ subject: { kind, name } }) => `${kind} ${name}`),
    ['replicasets.apps web-1', 'deployments.apps web'],
  );
});

test('restarts are counted when the status reports them, also of pods without a summary', async () => {
  const [pod, crashing] = [new TestPod('one', OWNED), new TestPod('two', OWNED)];
  pod.restarts = 7;
  const { clock, collector, values, all, store } = world([pod, crashing]);
  const { rings } = collector;
  await clock.advance(10_000);
  all.pop();
  pod.restarts = 9;
  store(pod);
  for (crashing.restarts = 1; crashing.restarts < 4; crashing.restarts++) store(crashing);
  await clock.advance(50_000);
  assert.deepEqual(values(rings.pods, 'uid-one', RESTARTS), [0, 0, 2, 0]);
  assert.deepEqual(values(rings.pods, 'uid-two', RESTARTS), [0, 0, 3, NaN]);
  assert.deepEqual(values(rings.workloads, 'web', RESTARTS), [0, 0, 5, 0]);
  assert.deepEqual(values(rings.nodes, 'a', RESTARTS), [0, 0, 5, 0]);
});

test('a pod that a kubelet reports of another node, or of an earlier uid, is not believed', async () => {
  const { clock, collector, objects, all } = world([]);
  const spec = { nodeName: 'b', containers: [] };
  objects.put(Pods, { metadata: { name: 'elsewhere', namespace: 'x', uid: 'uid-elsewhere' }, spec } as never);
  objects.put(Pods, { metadata: { name: 'earlier', namespace: 'x', uid: 'other' }, spec: { nodeName: 'a' } } as never);
  all.push(new TestPod('elsewhere'), new TestPod('earlier'), new TestPod('nowhere'));
  await clock.advance(10_000);
  assert.equal(collector.rings.pods.size, 0);
});

test('a node that does not answer leaves a gap', async () => {
  const { clock, collector, failing, values } = world([new TestPod('one')]);
  await clock.advance(10_000);
  failing.add('a');
  await clock.advance(20_000);
  failing.delete('a');
  await clock.advance(30_000);
  assert.deepEqual(values(collector.rings.pods, 'uid-one', CPU), [0.5, 0.5, NaN, 0.5]);
});

test('in a cluster of 5,000 nodes only the kubelets of requested objects are read', async () => {
  const nodes = Array.from({ length: 5000 }, (_, index) => `n${index}`);
  const pod = new TestPod('one', OWNED);
  pod.node = 'n7';
  const { clock, collector, read, values } = world([pod], nodes);
  await clock.advance(60_000);
  assert.equal(read.nodes, 0);
  assert.equal(collector.complete, false);
  collector.askFor('web', () => new Set(['n7']));
  await clock.advance(60_000);
  assert.equal(read.nodes, 2);
  assert.deepEqual(values(collector.rings.workloads, 'web', CPU)?.slice(-2), [0.5, 0.5]);
  assert.equal(values(collector.rings.workloads, 'web-1', CPU), undefined, 'others may have pods on further nodes');
  assert.deepEqual(values(collector.rings.pods, 'uid-one', CPU)?.slice(-2), [0.5, 0.5]);
});

test('50,000 pods on 500 nodes: 5,000 rings, requested objects first', async () => {
  const nodes = Array.from({ length: 500 }, (_, index) => `n${index}`);
  const pods = Array.from({ length: 50_000 }, (_, index) => {
    const pod = new TestPod(`p${index}`);
    pod.node = `n${index % 500}`;
    return pod;
  });
  const { clock, collector } = world(pods, nodes);
  const { rings } = collector;
  await clock.advance(10_000);
  assert.equal(rings.pods.size, 5000);
  const asked = pods.find(({ uid }) => rings.pods.read(uid, CPU, [0]) === undefined)!;
  collector.askFor(asked.uid, () => new Set());
  await clock.advance(50_000);
  assert.deepEqual(rings.pods.read(asked.uid, CPU, collector.timeline.kept()), [NaN, NaN, 0.5, 0.5]);
  assert.equal(rings.pods.size, 5000);
  const whole = pods.filter(({ uid }) => rings.pods.read(uid, CPU, [0])?.[0] === 0.5);
  assert.equal(whole.length, 4999, 'one made room, all others kept their past');
  assert.equal(rings.pods.byteLength, 5000 * SLOTS * 5 * 4);
});
