/** Planted errors are reported: a check that finds nothing would let every scenario pass. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceClaim } from '../api/gen/resource-v1.ts';
import {
  CronJobs,
  Deployments,
  Namespaces,
  PodDisruptionBudgets,
  Pods,
  ReplicaSets,
  ResourceClaims,
} from '../api/gen/resources.ts';
import { disagreements } from './agreement.ts';
import { Cluster } from './cluster.ts';

const spec = { containers: [{ name: 'c', image: 'web:1' }], automountServiceAccountToken: false };
const template = { metadata: { labels: { app: 'web' } }, spec };
const selector = { matchLabels: { app: 'web' } };
const gone = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'gone', uid: 'gone', controller: true };

test('wrong counts in statuses, endpoints without pods and orphans are reported', async () => {
  await using cluster = await Cluster.start({
    nodes: 1,
    controllers: ['node-lifecycle-controller', 'serviceaccount-controller'],
  });
  const at = { namespace: 'default' };
  const { client } = cluster;
  await cluster.waitFor('serviceaccount/default', 'exists');
  assert.deepEqual(disagreements(cluster), []);

  await client.resource(ReplicaSets).create({ metadata: { ...at, name: 'rs' }, spec: { selector, template } });
  const status = { replicas: 2, readyReplicas: 1, observedGeneration: 1 };
  await client
    .resource(ReplicaSets)
    .patch({ ...at, name: 'rs' }, { type: 'merge', patch: { status } }, { subresource: 'status' });
  await client.resource(Deployments).create({ metadata: { ...at, name: 'web' }, spec: { selector, template } });
  await client
    .resource(Pods)
    .create({ metadata: { ...at, name: 'p', labels: { app: 'web' }, ownerReferences: [gone] }, spec: template.spec });
  await client.resource(PodDisruptionBudgets).create({ metadata: { ...at, name: 'b' }, spec: { selector } });
  const runs = { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: 'gone', uid: 'gone' };
  await client.resource(CronJobs).create({
    metadata: { ...at, name: 'cron' },
    spec: { schedule: '0 0 * * *', jobTemplate: { spec: { template: { spec: { ...spec, restartPolicy: 'Never' } } } } },
  });
  await client
    .resource(CronJobs)
    .patch(
      { ...at, name: 'cron' },
      { type: 'merge', patch: { status: { active: [runs] } } },
      { subresource: 'status' },
    );
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  });
  await cluster.waitFor('pod/p', 'Ready');

  const { podIP } = (await client.resource(Pods).get({ ...at, name: 'p' })).status ?? {};
  assert.deepEqual(disagreements(cluster), [], 'nobody works on any of it');
  assert.deepEqual(
    disagreements(cluster, () => true),
    [
      'ReplicaSet default/rs: replicas is 2, there are 0',
      'ReplicaSet default/rs: readyReplicas is 1, there are 0',
      'Deployment default/web: generation 1 is not observed',
      'CronJob default/cron: gone is active, and there is no such job that runs',
      'PodDisruptionBudget default/b: generation 1 is not observed',
      'PodDisruptionBudget default/b: currentHealthy is 0, there are 1',
      `Service default/s has the endpoints none, ready are ${podIP}`,
      'Pod default/p has outlived its owners',
    ],
  );
});

test("a container that ended without its kubelet's knowledge is reported, and so is a node without a machine", async () => {
  await using cluster = await Cluster.start({ nodes: 1 });
  await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: template.spec });
  await cluster.waitFor('pod/p', 'Ready');
  const [container] = cluster.nodes.runtime('node-1').containers.values();
  container!.state = 'CONTAINER_EXITED';
  assert.deepEqual(disagreements(cluster), ['Pod default/p says that c runs, and it does not']);
  await cluster.nodes.remove('node-1');
  assert.deepEqual(
    disagreements(cluster).filter((text) => text.startsWith('Pod')),
    ['Pod default/p is on node-1, which is no more'],
  );
});

const GPU = 'gpu.example.com';
const NIC = 'nic.example.com';

/** Creates a node with a device of each driver, and a pod whose claim has one of each; returns the claim. */
async function podWithDevices(cluster: Cluster): Promise<ResourceClaim> {
  const api = { apiVersion: 'resource.k8s.io/v1' };
  const pool = { name: 'node-1', generation: 1, resourceSliceCount: 1 };
  const kinds = [GPU, NIC].map((driver) => ({ name: driver.split('.')[0]!, driver }));
  await cluster.apply([
    ...kinds.flatMap(({ name, driver }) => [
      {
        ...api,
        kind: 'DeviceClass',
        metadata: { name },
        spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
      },
      {
        ...api,
        kind: 'ResourceSlice',
        metadata: { name },
        spec: { driver, nodeName: 'node-1', pool, devices: [{ name: 'first' }] },
      },
    ]),
    {
      ...api,
      kind: 'ResourceClaim',
      metadata: { name: 'mine' },
      spec: { devices: { requests: kinds.map(({ name }) => ({ name, exactly: { deviceClassName: name } })) } },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: {
        resourceClaims: [{ name: 'both', resourceClaimName: 'mine' }],
        containers: [{ name: 'c', image: 'web:1', resources: { claims: [{ name: 'both' }] } }],
      },
    },
  ]);
  await cluster.waitFor('pod/p', 'Ready');
  return await cluster.client.resource(ResourceClaims).get({ namespace: 'default', name: 'mine' });
}

test('a pod without its devices, and devices prepared for no pod, are reported', async () => {
  await using cluster = await Cluster.start({ nodes: [{ draDrivers: [GPU, NIC] }] });
  const { uid: mine = '' } = (await podWithDevices(cluster)).metadata;
  const { drivers } = cluster.nodes.machine('node-1');
  assert.deepEqual([...drivers.ready].toSorted(), [`${GPU}/${mine}`, `${NIC}/${mine}`]);
  assert.deepEqual(disagreements(cluster), []);

  const [gpu, nic] = drivers.sockets.map((socket) => drivers.connect(socket, []));
  const call = (caller: typeof gpu, method: string, uid: string): Promise<unknown> =>
    caller!.unary({ service: '', method }, { claims: [{ uid }] }, {});
  await Promise.all([call(nic, 'NodeUnprepareResources', mine), cluster.advance('1s')]);
  assert.deepEqual(disagreements(cluster), [`Pod default/p runs without the devices of driver/claim ${NIC}/${mine}`]);

  const lost = call(gpu, 'NodePrepareResources', 'lost');
  await cluster.advance('100ms');
  drivers.reset();
  const got = call(gpu, 'NodePrepareResources', 'nobody');
  await Promise.all([assert.rejects(lost, { code: 'Unavailable' }), cluster.advance('1s'), got]);
  assert.deepEqual(disagreements(cluster), [
    `node-1 keeps the devices of driver/claim ${GPU}/nobody ready, which no pod there has`,
    `Pod default/p runs without the devices of driver/claim ${GPU}/${mine}`,
    `Pod default/p runs without the devices of driver/claim ${NIC}/${mine}`,
  ]);
});

test('a device that two claims have is reported, unless one has admin access or a share', async () => {
  await using cluster = await Cluster.start({ nodes: [{ draDrivers: [GPU, NIC] }] });
  const { apiVersion, kind, spec, status } = await podWithDevices(cluster);
  const namespace = 'default';
  const labels = { 'resource.kubernetes.io/admin-access': 'true' };
  await cluster.client
    .resource(Namespaces)
    .patch({ name: namespace }, { type: 'merge', patch: { metadata: { labels } } });
  const [gpu, ...others] = status!.allocation!.devices!.results!;
  const plant = async (name: string, differently: object): Promise<string[]> => {
    const claims = cluster.client.resource(ResourceClaims);
    await claims.create({ apiVersion, kind, metadata: { namespace, name }, spec } as ResourceClaim);
    const results = [{ ...gpu, ...differently }, ...others.map((each) => ({ ...each, device: name }))];
    const patch = { status: { allocation: { devices: { results } } } };
    const claim = await claims.patch({ namespace, name }, { type: 'merge', patch }, { subresource: 'status' });
    assert.deepEqual(claim.status?.allocation?.devices?.results, results);
    const told = disagreements(cluster);
    await claims.delete({ namespace, name });
    return told;
  };
  assert.deepEqual(await plant('other', {}), [
    `ResourceClaim default/mine and ResourceClaim default/other both have the device ${GPU}/node-1/first`,
  ]);
  assert.deepEqual(await plant('pool', { pool: 'node-2' }), []);
  assert.deepEqual(await plant('looks', { adminAccess: true }), []);
  assert.deepEqual(await plant('share', { shareID: '8b7d2f6e-5b8c-4f5d-9a57-6e1f0c3d2b1a' }), []);
});

test('claims and their devices are visited once, however many machines and pods there are', async (t) => {
  await using cluster = await Cluster.start({ nodes: [{ draDrivers: [GPU, NIC] }] });
  await podWithDevices(cluster);
  const peek = t.mock.method(cluster, 'peek');
  const peeks = (): number => {
    peek.mock.resetCalls();
    assert.deepEqual(
      disagreements(cluster, () => false),
      [],
    );
    return peek.mock.callCount();
  };
  const before = peeks();
  await cluster.nodes.addMany([{ draDrivers: [GPU] }, { draDrivers: [NIC] }, {}]);
  await cluster.apply(['q', 'r'].map((name) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec })));
  for (const pod of ['q', 'r']) await cluster.waitFor(`pod/${pod}`, 'Ready');
  assert.equal(peeks(), before);
});
