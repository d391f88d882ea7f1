/** The library as tests use it: a real control plane and kubelets in virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Deployment } from '../api/gen/apps-v1.ts';
import type { Node, Pod } from '../api/gen/core-v1.ts';
import { ConfigMaps, Deployments, Nodes, Pods } from '../api/gen/resources.ts';
import type { PodWhy } from '../component-helpers/pod-why.ts';
import { image } from '../cri/sim/sim-image.ts';
import { Cluster } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import type { WaitError } from './wait-error.ts';

const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - name: web
          image: web:1
`;

describe('a cluster in a test', () => {
  it('rolls a deployment out', async () => {
    await using cluster = await Cluster.start({ nodes: 2, images: [image('web:1', { start: '2s' })] });
    const sinceMs = cluster.nowMs;
    await cluster.apply(WEB);
    const web = await cluster.waitFor<Deployment>('deployment/web', 'Available');
    assert.equal(web.status?.availableReplicas, 3);
    assert.ok(cluster.nowMs - sinceMs >= 2000 && cluster.nowMs - sinceMs < 5000, `${cluster.nowMs - sinceMs} ms`);
    assert.ok(cluster.events({ reason: 'ScalingReplicaSet', about: 'deployment/web' }).length === 1);
  });

  it('returns copies of objects', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    const made = await cluster.client
      .resource(ConfigMaps)
      .create({ metadata: { name: 'a', namespace: 'default' }, data: { k: 'v' } });
    made.data!['k'] = 'changed';
    const read = await cluster.client.resource(ConfigMaps).get({ namespace: 'default', name: 'a' });
    assert.equal(read.data?.['k'], 'v');
  });

  it("reports the object's state when a wait fails", async () => {
    await using cluster = await Cluster.start({ nodes: 1, unknownImages: 'refuse' });
    await cluster.apply(WEB);
    await assert.rejects(cluster.waitFor('deployment/web', 'Available', { within: '1m' }), (error: WaitError) => {
      assert.match(error.message, /^deployment default\/web is not Available after 1m0s/);
      assert.match(error.message, /pods \(3\):/);
      assert.match(error.message, /ErrImagePull|ImagePullBackOff/);
      assert.match(error.message, /Warning Failed Pod\/web-/);
      return true;
    });
  });

  it('reports a missing object and an invalid reference', async () => {
    await using cluster = await Cluster.start({ nodes: 0, controllers: [] });
    await assert.rejects(cluster.waitFor('pod/none', 'Ready', { within: 1000 }), /pod default\/none does not exist/);
    await assert.rejects(cluster.waitFor('nonsense/none', 'Ready'), /no kind nonsense/);
    await assert.rejects(cluster.waitFor('pod', 'Ready'), /not of the form KIND\/NAME/);
  });

  it('starts without controllers, as a bare API server with kubelets that run the pods bound to them', async () => {
    await using cluster = await Cluster.start({ nodes: 2, controllers: [], scheduler: false });
    const serviceAccount = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
    const bound = (node: string) => ({
      ...pod(`on-${node}`, 'web:1'),
      spec: { nodeName: node, automountServiceAccountToken: false, ...pod('', 'web:1').spec },
    });
    await cluster.apply([serviceAccount, bound('node-1'), bound('node-2')]);
    const ips = await Promise.all(
      ['node-1', 'node-2'].map(async (node) => (await cluster.waitFor<Pod>(`pod/on-${node}`, 'Ready')).status?.podIP),
    );
    assert.equal(new Set(ips).size, 2, ips.join());
  });

  it('refuses invalid options with the reason before it opens a store', async () => {
    const store = () => assert.fail('a store nobody closes');
    const cases: [ClusterOptions, RegExp][] = [
      [{ controllers: ['nonsense'] }, /^controllers: nonsense unknown; there are replicaset-controller, /],
      [{ nodes: -1 }, /^nodes: -1 is no number/],
      [{ nodes: 1.5 }, /^nodes: 1.5 is no number/],
      [{ startAt: 'tomorrow' }, /^startAt: tomorrow is no time/],
      [{ clock: 'fast' as 'real' }, /clock: "fast" is no one of virtual, real/],
      [{ store, images: [{ name: 'web:1', start: 'soon' }] }, /^image web:1: start: "soon" is no span of time/],
      [{ nodes: [{ name: 'a' }, { name: 'a' }] }, /^there is a node a already/],
      [{ nodes: [{ name: 'A_B' }] }, /^not Ready after 60 s: A_B: .*lowercase RFC 1123/],
    ];
    for (const [options, message] of cases)
      await assert.rejects(Cluster.start(options), (error: Error) => message.test(error.message), message.source);
  });

  it('replaces pods of a machine that lost its power', async () => {
    await using cluster = await Cluster.start({ nodes: 2, images: [image('web:1')] });
    await cluster.apply(WEB);
    await cluster.waitFor('deployment/web', 'Available');
    await cluster.nodes.crash('node-1');
    await cluster.waitFor<Node>(
      'node/node-1',
      (node) => node.spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/unreachable') === true,
      { within: '2m' },
    );
    await cluster
      .waitFor<Deployment>('deployment/web', ({ status }) => (status?.availableReplicas ?? 0) < 3, { within: '5m' })
      .catch(() => undefined);
    await cluster.advance('6m');
    const { items } = await cluster.client.resource(Pods).list({ namespace: 'default' });
    const running = items.filter(
      ({ metadata, spec }) => metadata.deletionTimestamp === undefined && spec?.nodeName === 'node-2',
    );
    assert.equal(running.length, 3);
    await cluster.nodes.start('node-1');
    await cluster.waitFor('node/node-1', 'Ready');
    await cluster.eventually(async () => {
      const pods = await cluster.client.resource(Pods).list({ namespace: 'default' });
      assert.equal(pods.items.length, 3);
    });
  });

  it('has no disagreements while nothing happens', async () => {
    await using cluster = await Cluster.start({ nodes: 2, images: [image('web:1')] });
    await cluster.apply(WEB);
    await cluster.waitFor('deployment/web', 'Available');
    await cluster.advance('1h');
    assert.deepEqual(
      cluster.events({ type: 'Warning' }).map(({ reason, message }) => `${reason} ${message}`),
      [],
    );
  });

  it('supports several concurrent waits', async () => {
    await using cluster = await Cluster.start({
      nodes: 1,
      images: [image('web:1', { start: '1s' }), image('slow:1', { start: '20s' })],
    });
    await cluster.apply([pod('quick', 'web:1'), pod('slow', 'slow:1')]);
    const order: string[] = [];
    await Promise.all([
      cluster.waitFor('pod/slow', 'Ready').then(() => order.push('slow')),
      cluster.waitFor('pod/quick', 'Ready').then(() => order.push('quick')),
      cluster.advance('10s').then(() => order.push('ten seconds')),
    ]);
    assert.deepEqual(order, ['quick', 'ten seconds', 'slow']);
  });

  it('is restored from a snapshot', async () => {
    await using cluster = await Cluster.start({ nodes: 1, images: [image('web:1')] });
    await cluster.apply(WEB);
    await cluster.waitFor('deployment/web', 'Available');
    const snapshot = JSON.parse(JSON.stringify(await cluster.snapshot())) as Awaited<ReturnType<Cluster['snapshot']>>;
    await cluster.client.resource(Deployments).delete({ namespace: 'default', name: 'web' });
    await cluster.waitFor('deployment/web', 'deleted');
    await cluster.advance('1h');
    await cluster.restore(snapshot);
    assert.equal(cluster.nowMs, snapshot.nowMs);
    await cluster.waitFor<Deployment>('deployment/web', ({ status }) => status?.availableReplicas === 3);
    assert.equal((await cluster.client.resource(Nodes).list()).items.length, 1);
  });
});

describe('repeatability', () => {
  const run = async (seed: number): Promise<{ hash: string; count: number }> => {
    await using cluster = await Cluster.start({ nodes: 3, seed, images: [image('web:1', { start: '1s' })] });
    await cluster.apply(WEB);
    await cluster.waitFor('deployment/web', 'Available');
    await cluster.nodes.crash('node-2');
    await cluster.advance('8m');
    const { hash, count } = cluster.eventLog();
    return { hash, count };
  };

  it('gives the same run for the same seed, and another for another seed', async () => {
    const first = await run(7);
    assert.deepEqual(await run(7), first);
    assert.notEqual((await run(8)).hash, first.hash);
  });
});

function pod(name: string, imageName: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'app', image: imageName }] },
  };
}

it('why: a waiting pod names what the nodes lack, and so does a failed wait; a bound pod has its scheduling decision', async () => {
  await using cluster = await Cluster.start({ nodes: [{ cpus: 1 }, { cpus: 2 }] });
  const pod = (name: string, cpu: string): string =>
    `{ apiVersion: v1, kind: Pod, metadata: { name: ${name} }, spec: { containers: [{ name: c, image: 'i:1', resources: { requests: { cpu: '${cpu}' } } }] } }`;
  await cluster.apply(pod('small', '100m'));
  await cluster.apply(pod('big', '3'));
  await cluster.waitFor('pod/small', 'Ready');
  const why = (name: string): Promise<PodWhy> =>
    cluster.client.resource(Pods).getSubresource<PodWhy>({ namespace: 'default', name }, 'why');
  const small = await why('small');
  assert.equal(small.state, 'Bound');
  assert.equal(small.lastDecision?.nodes[0]?.name, small.nodeName);
  const big = await why('big');
  assert.equal(big.state, 'Unschedulable');
  assert.equal(big.now?.nodes[0]?.name, 'node-2', 'the nearest first');
  await assert.rejects(
    cluster.waitFor('pod/big', 'Ready', { within: '1m' }),
    /\| node-2: Insufficient cpu; asks for 3 cpu, .*\n.*\| node-1: /,
  );
  await assert.rejects(why('none'), /pods "none" not found/);
});
