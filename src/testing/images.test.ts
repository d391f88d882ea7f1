/** Each field of an image's description, observed through the API server, the kubelet and the controllers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Deployment } from '../api/gen/apps-v1.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { Pods } from '../api/gen/resources.ts';
import type { SimImageSpec } from '../cri/sim/sim-image.ts';
import { Cluster } from './cluster.ts';

type Container = NonNullable<NonNullable<Pod['spec']>['containers']>[number];

async function withPod(spec: SimImageSpec, container: Partial<Container> = {}, restartPolicy = 'Always') {
  const cluster = await Cluster.start();
  cluster.image('app:1', spec);
  const containers = [{ name: 'app', image: 'app:1', ...container }];
  await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { restartPolicy, containers } });
  const stateOf = () =>
    cluster.peek(Pods).find(({ metadata }) => metadata.name === 'p')?.status?.containerStatuses?.[0];
  return { cluster, stateOf, [Symbol.asyncDispose]: () => cluster.stop() };
}

describe('an image', () => {
  it('may be described by a pattern of its name, the longest that fits, also while it runs', async () => {
    const ends = (code: number): SimImageSpec => ({ exits: { code, after: '1s' } });
    await using cluster = await Cluster.start({ unknownImages: 'refuse' });
    cluster.image('*', ends(1));
    cluster.image('docker.io/*/curl:*', ends(2));
    cluster.image('docker.io/tools/curl:8', ends(3));
    const endOf = async (name: string, imageName: string): Promise<number | undefined> => {
      const spec = { restartPolicy: 'Never', containers: [{ name: 'app', image: imageName }] };
      await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
      const ended = ({ status }: Pod): boolean => status?.containerStatuses?.[0]?.state?.terminated !== undefined;
      const pod = await cluster.waitFor<Pod>(`pod/${name}`, ended);
      return pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
    };
    assert.equal(await endOf('a', 'busybox'), 1);
    assert.equal(await endOf('b', 'docker.io/some/curl:1.2'), 2);
    assert.equal(await endOf('c', 'docker.io/tools/curl:8'), 3);
    cluster.image('docker.io/*', ends(4));
    cluster.image('docker.io/*/curl:*', ends(5));
    assert.equal(await endOf('d', 'docker.io/some/curl:1.2'), 5);
    assert.equal(await endOf('e', 'docker.io/other'), 4);
  });

  it('start: the time until the container runs', async () => {
    await using test = await withPod({ start: '20s' });
    const { cluster, stateOf } = test;
    await cluster.advance('19s');
    assert.equal(stateOf()?.state?.waiting?.reason, 'ContainerCreating');
    await cluster.waitFor('pod/p', 'Ready', { within: '3s' });
  });

  it('exits: the pod ends with the code, the reason and the message', async () => {
    await using test = await withPod({ exits: { code: 3, after: '5s' }, terminationMessage: 'enough' }, {}, 'Never');
    await test.cluster.waitFor('pod/p', '.status.phase=Failed', { within: '10s' });
    const { exitCode, reason, message } = test.stateOf()?.state?.terminated ?? {};
    assert.deepEqual([exitCode, reason, message], [3, 'Error', 'enough']);
  });

  it('crashes: the container fails this often, with crash-loop back-off, and then runs', async () => {
    await using test = await withPod({ crashes: { code: 7, after: '1s', times: 2 } });
    const { cluster, stateOf } = test;
    await cluster.waitFor('pod/p', () => stateOf()?.state?.waiting?.reason === 'CrashLoopBackOff', { within: '1m' });
    await cluster.advance('2m');
    assert.equal(stateOf()?.restartCount, 2);
    assert.equal(stateOf()?.lastState?.terminated?.exitCode, 7);
    assert.equal(stateOf()?.ready, true);
  });

  it('logs: lines at their times, of this run and of the previous one', async () => {
    await using test = await withPod({
      logs: ['first', { after: '10s', line: 'second', stream: 'stderr' }],
      crashes: { code: 1, after: '15s', times: 1 },
    });
    const { cluster } = test;
    const logs = async (query = ''): Promise<string> => {
      const path = `/api/v1/namespaces/default/pods/p/log${query}`;
      const { body } = await cluster.client.raw({ method: 'GET', path });
      return Buffer.from(body).toString('utf8');
    };
    await cluster.waitFor('pod/p', 'Ready');
    assert.equal(await logs(), 'first\n');
    await cluster.advance('11s');
    assert.equal(await logs(), 'first\nsecond\n');
    await cluster.waitFor('pod/p', () => test.stateOf()?.restartCount === 1, { within: '1m' });
    assert.deepEqual([await logs(), await logs('?previous=true')], ['first\n', 'first\nsecond\n']);
  });

  it('http and exec: the responses to probes', async () => {
    await using test = await withPod(
      {
        http: ({ path, port, uptimeMs }) => ({ status: path === '/up' && port === 80 && uptimeMs > 8000 ? 200 : 503 }),
        exec: ({ command }) => ({ exitCode: command[0] === 'check' ? 1 : 0, stdout: 'it is over' }),
      },
      {
        readinessProbe: { httpGet: { path: '/up', port: 80 }, periodSeconds: 1 },
        livenessProbe: { exec: { command: ['check'] }, initialDelaySeconds: 30, failureThreshold: 1 },
      },
    );
    const { cluster } = test;
    await cluster.advance('7s');
    assert.equal(test.stateOf()?.ready, false);
    await cluster.waitFor('pod/p', 'Ready', { within: '4s' });
    await cluster.waitFor('pod/p', () => test.stateOf()?.restartCount === 1, { within: '1m' });
    const said = cluster.events({ about: 'pod/p', reason: 'Unhealthy' }).map(({ message = '' }) => message);
    assert.ok(said.includes('Readiness probe failed: HTTP probe failed with statuscode: 503'), said.join('; '));
    assert.ok(said.includes('Liveness probe failed: it is over'), said.join('; '));
  });

  it('pull: its duration, or a failure until the description changes', async () => {
    await using test = await withPod({ present: false, pull: { after: '30s' } });
    const { cluster } = test;
    await cluster.advance('29s');
    assert.equal(test.stateOf()?.state?.waiting?.reason, 'ContainerCreating');
    await cluster.waitFor('pod/p', 'Ready', { within: '2s' });
    cluster.image('late:1', { present: false, pull: { error: 'manifest unknown' } });
    const spec = { containers: [{ name: 'c', image: 'late:1' }] };
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'late' }, spec });
    await cluster.advance('1m');
    await assert.rejects(cluster.waitFor('pod/late', 'Ready', { within: 0 }), /ImagePullBackOff[^]*manifest unknown/);
    cluster.image('late:1');
    await cluster.waitFor('pod/late', 'Ready');
  });

  it('onStop: a process that ignores its signal is killed after its grace period', async () => {
    await using test = await withPod({ onStop: 'ignored' });
    const { cluster } = test;
    await cluster.waitFor('pod/p', 'Ready');
    await cluster.client.resource(Pods).delete({ namespace: 'default', name: 'p' }, { gracePeriodSeconds: 20 });
    await cluster.advance('19s');
    await cluster.waitFor('pod/p', 'exists', { within: 0 });
    await cluster.waitFor('pod/p', 'deleted', { within: '5s' });
  });

  it('usage: above the limit the container is OOMKilled and crash loops', async () => {
    await using test = await withPod(
      { usage: [{ memory: '20Mi' }, { after: '10s', memory: '80Mi' }] },
      { resources: { limits: { memory: '64Mi' } } },
    );
    const { cluster, stateOf } = test;
    await cluster.waitFor('pod/p', 'Ready');
    await cluster.waitFor('pod/p', () => stateOf()?.restartCount === 2, { within: '2m' });
    const { exitCode, reason } = stateOf()?.lastState?.terminated ?? {};
    assert.deepEqual([exitCode, reason], [137, 'OOMKilled']);
  });

  it('usage: the metrics API shows it, and an autoscaler follows it up and down', async () => {
    await using cluster = await Cluster.start({ nodes: 2 });
    let load = 0.2;
    const count = (): number => cluster.peek(Pods).filter(({ status }) => status?.phase === 'Running').length;
    cluster.image('web:1', { usage: () => ({ cpu: load / Math.max(1, count()), memory: '32Mi' }) });
    const labels = { app: 'web' };
    const containers = [{ name: 'web', image: 'web:1', resources: { requests: { cpu: '200m' } } }];
    await cluster.apply([
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web' },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers } },
        },
      },
      {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'web' },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
          minReplicas: 2,
          maxReplicas: 10,
          metrics: [
            { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
          ],
        },
      },
    ]);
    await cluster.waitFor('deployment/web', '.status.availableReplicas=2');
    await cluster.advance('2m');
    const path = '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods';
    const { body } = await cluster.client.raw({ method: 'GET', path });
    const { items } = JSON.parse(Buffer.from(body).toString('utf8')) as {
      items: { containers: { usage: { cpu: string; memory: string } }[] }[];
    };
    assert.deepEqual(
      items.map(({ containers: [first] }) => first?.usage),
      [1, 2].map(() => ({ cpu: '100m', memory: '32Mi' })),
    );
    load = 0.8; // eight pods at half of their 200m
    await cluster.waitFor<Deployment>('deployment/web', ({ spec }) => spec?.replicas === 8, { within: '10m' });
    load = 0.3;
    await cluster.waitFor<Deployment>('deployment/web', ({ spec }) => spec?.replicas === 3, { within: '20m' });
  });
});

it('usage: a machine whose containers use its memory evicts one of them', async () => {
  await using cluster = await Cluster.start({ nodes: [{ memoryBytes: 2 * 2 ** 30 }] });
  cluster.image('greedy:1', { usage: [{ memory: '64Mi' }, { after: '1m', memory: '980Mi' }] });
  cluster.image('modest:1', { usage: { cpu: '500m', memory: '64Mi' } });
  const pod = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'c', image: `${name}:1` }] },
  });
  await cluster.apply([pod('greedy'), pod('modest')]);
  await cluster.waitFor('pod/modest', 'Ready');
  await cluster.advance('20s');
  const nodes = async () => {
    const { body } = await cluster.client.raw({ method: 'GET', path: '/apis/metrics.k8s.io/v1beta1/nodes' });
    return (JSON.parse(Buffer.from(body).toString('utf8')) as { items: { usage: { cpu: string } }[] }).items;
  };
  await nodes();
  await cluster.advance('20s');
  assert.equal((await nodes())[0]?.usage.cpu, '560m'); // half a core, a hundredth, and a twentieth for the machine itself
  await cluster.waitFor<Pod>('pod/greedy', ({ status }) => status?.reason === 'Evicted', { within: '3m' });
  await cluster.waitFor('pod/modest', 'Ready', { within: 0 });
});
