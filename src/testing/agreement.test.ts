/** What is wrong on purpose is named: a check that finds nothing would let every scenario pass. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceClaim } from '../api/gen/resource-v1.ts';
import {
  CronJobs,
  Deployments,
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

test('statuses that count what is not there, endpoints of nobody, orphans: each is told', async () => {
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

test('a container that ended behind the back of its kubelet is told, as is a node that is no more', async () => {
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

/** A node with a device of each driver, and a pod there whose claim has one of each; gives the claim. */
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

test('a pod without its devices, and devices ready for nobody, are told', async () => {
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

test('however many machines and pods there are, they and the claims are gone through once for the devices', async (t) => {
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
