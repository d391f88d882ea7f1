import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/gen/core-v1.ts';
import { Pods } from '../api/gen/resources.ts';
import { Cluster } from './cluster.ts';
import { image } from '../cri/sim/sim-image.ts';

const images = [
  image('first:1', { exits: { code: 0, after: '3s' } }),
  image('web:1', { present: false, pull: { after: '20s' }, start: '1s', http: { status: 200 } }),
];
const container = {
  name: 'web',
  image: 'web:1',
  readinessProbe: { httpGet: { path: '/', port: 80 }, initialDelaySeconds: 2 },
};

test("a trace accounts for the time of a pod's start, from the request to the ready probe", async () => {
  await using cluster = await Cluster.start({ images });
  const initContainers = [{ name: 'first', image: 'first:1' }];
  const spec = { initContainers, containers: [container] };
  await cluster.apply([{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec } as never]);
  await cluster.waitFor('pod/web', 'Ready');
  const trace = await cluster.trace('pod/web');
  assert.deepEqual(trace.missing, []);
  assert.equal(trace.nodeName, 'node-1');
  assert.ok(trace.accountedFor! > 0.95, JSON.stringify(trace, undefined, 1));
  const took = (name: string): number =>
    Math.round(
      Math.max(...trace.steps.filter((step) => step.name === name).map(({ durationMs }) => durationMs ?? NaN)) / 1000,
    );
  assert.deepEqual(
    ['container ran', 'pull', 'start', 'readiness probe'].map((name) => [name, took(name)]),
    [
      ['container ran', 3],
      ['pull', 20],
      ['start', 1],
      ['readiness probe', 2],
    ],
  );
  const components = new Set(trace.steps.map(({ component }) => component));
  assert.deepEqual([...components], ['kube-apiserver', 'kube-scheduler', 'kubelet']);
  const requests = trace.steps.filter(({ component, depth }) => component === 'kube-apiserver' && depth === 0);
  assert.deepEqual(
    requests.map(({ name }) => name),
    ['create', 'bind'],
  );
  assert.deepEqual(
    trace.steps.filter(({ component }) => component === 'kube-scheduler').map(({ name }) => name),
    ['queue', 'filter and score', 'bind'],
  );
});

test('a trace lists its missing parts and includes failed attempts', async () => {
  await using cluster = await Cluster.start({ images, nodes: [{ name: 'small' }] });
  const pod = (name: string, spec: object) =>
    cluster.apply([{ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec } as never]);
  await pod('wide', { containers: [{ name: 'c', image: 'web:1', resources: { requests: { cpu: '1000' } } }] });
  await cluster.advance('5s');
  const waiting = await cluster.trace('pod/wide');
  assert.equal(waiting.ready, undefined);
  assert.deepEqual(waiting.missing, ['kubelet: the pod has no node']);
  const attempt = waiting.steps.find(({ name }) => name === 'filter and score');
  assert.match(attempt?.error ?? '', /Insufficient cpu/);

  await pod('foreign', { schedulerName: 'another', containers: [container] });
  await cluster.advance('1s');
  assert.match((await cluster.trace('pod/foreign')).missing.join(), /kube-scheduler: it has not tried the pod/);
  await assert.rejects(cluster.trace('pod/none'), /pods "none" not found/);
  await assert.rejects(cluster.trace('node/small'), /only the starts of pods are traced/);

  await pod('placed', { nodeName: 'small', containers: [{ name: 'c', image: 'first:1' }], restartPolicy: 'Never' });
  await cluster.waitFor<Pod>('pod/placed', ({ status }) => status?.phase === 'Succeeded');
  const placed = await cluster.trace('pod/placed');
  assert.match(placed.missing.join(), /kube-scheduler: it did not bind the pod/);
  assert.ok(placed.steps.some(({ name, component }) => component === 'kubelet' && name === 'syncPod'));
  await cluster.nodes.stopKubelet('small');
  await cluster.client.raw({ method: 'DELETE', path: '/api/v1/namespaces/default/pods/wide' });
  assert.deepEqual((await cluster.trace('pod/wide')).missing, ['kubelet: the pod is gone']);
  assert.match((await cluster.trace('pod/placed')).missing.join(), /kubelet of small: /);
});

test('a trace accounts for the wait for readiness gates, and says for which', async () => {
  await using cluster = await Cluster.start({ images: [image('web:1', {})] });
  const spec = { readinessGates: [{ conditionType: 'x.io/lb' }], containers: [{ name: 'web', image: 'web:1' }] };
  await cluster.apply([{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec } as never]);
  await cluster.waitFor('pod/web', 'ContainersReady');
  await cluster.advance('1m');
  const patch = { status: { conditions: [{ type: 'x.io/lb', status: 'True' }] } };
  const key = { namespace: 'default', name: 'web' };
  await cluster.client.resource(Pods).patch(key, { type: 'strategic', patch }, { subresource: 'status' });
  await cluster.waitFor('pod/web', 'Ready');
  const trace = await cluster.trace('pod/web');
  assert.ok(trace.accountedFor! > 0.95, JSON.stringify(trace, undefined, 1));
  const { durationMs = 0, detail } = trace.steps.find(({ name }) => name === 'readiness gates') ?? {};
  assert.equal(Math.round(durationMs / 1000), 60);
  assert.match(detail ?? '', /x\.io\/lb/);
});
