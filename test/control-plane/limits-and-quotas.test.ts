/**
 * Limit ranges and resource quotas with kubectl: defaults of containers, refusals of pods, claims and services with their texts,
 * scopes, and exact limits under concurrent requests.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../integration/fixtures/until.ts';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';

let plane: ControlPlaneFixture;
before(async () => {
  plane = await startControlPlane();
});
after(() => plane.stop());

type Resources = Readonly<Record<string, Readonly<Record<string, string>>>>;

const create = (namespace: string, ...objects: object[]): ReturnType<ControlPlaneFixture['kubectl']> =>
  plane.kubectl(
    ['create', '-n', namespace, '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  );

/** Creates a namespace in which pods can be created. */
async function makeNamespace(name: string, ...objects: object[]): Promise<void> {
  assert.equal((await plane.kubectl(['create', 'namespace', name])).code, 0);
  await until('what every namespace has', async () => {
    const found = await plane.kubectl(['get', 'serviceaccount/default', 'configmap/kube-root-ca.crt', '-n', name]);
    return found.code === 0;
  });
  const made = await create(name, ...objects);
  assert.equal(made.code, 0, made.stderr);
}

function pod(name: string, resources: Resources = {}, spec: object = {}): object {
  const containers = [{ name: 'c', image: 'i', resources }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers, ...spec } };
}

function claim(name: string, storage: string, storageClassName = 'slow'): object {
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage } } };
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name }, spec };
}

const limitRange = (name: string, ...limits: object[]): object => ({
  apiVersion: 'v1',
  kind: 'LimitRange',
  metadata: { name },
  spec: { limits },
});

const quota = (name: string, hard: Readonly<Record<string, string>>, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name },
  spec: { hard, ...more },
});

/** Resolves when the controller has counted: before that nothing is admitted. */
function counted(namespace: string, name: string): Promise<unknown> {
  return until(`the quota ${name} is counted`, async () => {
    const path = ['-o', 'jsonpath={.spec.hard}|{.status.hard}|{.status.used}'];
    const [hard, known, used] = (await plane.kubectl(['get', 'quota', name, '-n', namespace, ...path])).stdout.split(
      '|',
    );
    return hard !== '' && hard === known && used !== '';
  });
}

async function refused(namespace: string, object: object, message: RegExp): Promise<void> {
  const said = await create(namespace, object);
  assert.match(said.stderr, message);
  assert.equal(said.code, 1);
}

test('limit ranges set defaults of containers, and limit containers, pods and claims', async (t) => {
  await makeNamespace(
    'ranged',
    limitRange('containers', {
      type: 'Container',
      default: { cpu: '500m', memory: '256Mi' },
      defaultRequest: { cpu: '100m' },
      min: { cpu: '50m' },
      max: { cpu: '1' },
      maxLimitRequestRatio: { cpu: '5' },
    }),
    limitRange('pods', { type: 'Pod', max: { memory: '1Gi' } }),
    limitRange('claims', { type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '5Gi' } }),
  );
  await t.test('absent values', async () => {
    const made = await create('ranged', pod('filled'));
    assert.equal(made.stdout, 'pod/filled created', made.stderr);
    const said = await plane.kubectl(['get', 'pod', 'filled', '-n', 'ranged', '-o', 'json']);
    const { metadata, spec } = JSON.parse(said.stdout);
    assert.deepEqual(spec.containers[0].resources, {
      limits: { cpu: '500m', memory: '256Mi' },
      requests: { cpu: '100m', memory: '256Mi' },
    });
    assert.equal(
      metadata.annotations['kubernetes.io/limit-ranger'],
      'LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c',
    );
  });
  const of = (requests: Record<string, string>, limits: Record<string, string>): Resources => ({ requests, limits });
  const rows: readonly [string, object, RegExp][] = [
    [
      'a container below',
      pod('p', of({ cpu: '10m' }, { cpu: '50m' })),
      /pods "p" is forbidden: minimum cpu usage per Container is 50m, but request is 10m/,
    ],
    [
      'a container above',
      pod('p', of({ cpu: '1' }, { cpu: '2' })),
      /maximum cpu usage per Container is 1, but limit is 2/,
    ],
    [
      'a limit far from the request',
      pod('p', of({ cpu: '100m' }, { cpu: '600m' })),
      /cpu max limit to request ratio per Container is 5, but provided ratio is 6\.000000/,
    ],
    ['a pod above', pod('p', of({}, { memory: '2Gi' })), /maximum memory usage per Pod is 1Gi, but limit is 2Gi/],
    [
      'a claim below',
      claim('p', '500Mi'),
      /persistentvolumeclaims "p" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi/,
    ],
    ['a claim above', claim('p', '6Gi'), /maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi/],
  ];
  for (const [what, object, message] of rows) await t.test(what, () => refused('ranged', object, message));
  await t.test('a claim within', async () => assert.equal((await create('ranged', claim('good', '2Gi'))).code, 0));
  await t.test('a resize of a pod', async () => {
    const change = { spec: { containers: [{ name: 'c', resources: { limits: { cpu: '2' } } }] } };
    const said = await plane.kubectl([
      ...['patch', 'pod', 'filled', '-n', 'ranged', '--subresource=resize', '-p', JSON.stringify(change)],
    ]);
    assert.match(said.stderr, /maximum cpu usage per Container is 1, but limit is 2/);
  });
});

test('quotas limit compute, objects, storage classes and services', async (t) => {
  await makeNamespace(
    'small',
    quota('compute', { 'requests.cpu': '1', 'limits.memory': '1Gi' }),
    quota('objects', { configmaps: '3', 'count/deployments.apps': '1', 'services.nodeports': '1' }),
    quota('storage', { 'requests.storage': '10Gi', 'gold.storageclass.storage.k8s.io/requests.storage': '3Gi' }),
  );
  for (const name of ['compute', 'objects', 'storage']) await counted('small', name);
  const both = (cpu: string): Resources => ({ requests: { cpu }, limits: { memory: '400Mi' } });
  await t.test('a pod must specify the counted resources', () =>
    refused(
      'small',
      pod('silent'),
      /pods "silent" is forbidden: failed quota: compute: must specify limits\.memory for: c; requests\.cpu for: c/,
    ),
  );
  await t.test('up to the limit', async () => {
    assert.equal((await create('small', pod('one', both('600m')))).code, 0);
    await refused(
      'small',
      pod('two', both('500m')),
      /pods "two" is forbidden: exceeded quota: compute, requested: requests\.cpu=500m, used: requests\.cpu=600m, limited: requests\.cpu=1$/m,
    );
    assert.equal((await create('small', pod('two', both('400m')))).code, 0);
  });
  await t.test('a resize is charged', async () => {
    const change = { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '700m' } } }] } };
    const patch = ['--subresource=resize', '-p', JSON.stringify(change)];
    const said = await plane.kubectl(['patch', 'pod', 'one', '-n', 'small', ...patch]);
    assert.match(said.stderr, /exceeded quota: compute, requested: requests\.cpu=100m, used: requests\.cpu=1/);
  });
  await t.test('objects of any kind, under concurrent requests', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `m${index}`);
    const said = await Promise.all(names.map((name) => plane.kubectl(['create', 'configmap', name, '-n', 'small'])));
    const made = said.filter(({ code }) => code === 0).length;
    const { stdout } = await plane.kubectl(['get', 'configmaps', '-n', 'small', '-o', 'name']);
    assert.deepEqual([made, stdout.split('\n').length], [2, 3], 'one is in every namespace');
    const over = said.find(({ code }) => code !== 0);
    assert.match(over!.stderr, /is forbidden: exceeded quota: objects, requested: configmaps=1, used: configmaps=3/);
    const deploy = (name: string) => ['create', 'deployment', name, '--image=i', '--replicas=0', '-n', 'small'];
    assert.equal((await plane.kubectl(deploy('a'))).code, 0);
    assert.match(
      (await plane.kubectl(deploy('b'))).stderr,
      /requested: count\/deployments\.apps=1, used: count\/deployments\.apps=1/,
    );
  });
  await t.test('storage by class', async () => {
    assert.equal((await create('small', claim('a', '2Gi', 'gold'))).code, 0);
    await refused(
      'small',
      claim('b', '2Gi', 'gold'),
      /requested: gold\.storageclass\.storage\.k8s\.io\/requests\.storage=2Gi/,
    );
    assert.equal((await create('small', claim('b', '8Gi'))).code, 0);
    await refused(
      'small',
      claim('c', '1Gi'),
      /exceeded quota: storage, requested: requests\.storage=1Gi, used: requests\.storage=10Gi/,
    );
  });
  await t.test('node ports, also those added by an update', async () => {
    const service = (name: string, type: string) => ['create', 'service', type, name, '--tcp=80', '-n', 'small'];
    assert.equal((await plane.kubectl(service('a', 'nodeport'))).code, 0);
    assert.match((await plane.kubectl(service('b', 'nodeport'))).stderr, /requested: services\.nodeports=1/);
    assert.equal((await plane.kubectl(service('b', 'clusterip'))).code, 0);
    const said = await plane.kubectl(['patch', 'service', 'b', '-n', 'small', '-p', '{"spec":{"type":"NodePort"}}']);
    assert.match(said.stderr, /exceeded quota: objects, requested: services\.nodeports=1/);
  });
  await t.test('deleted objects release their share', async () => {
    assert.equal((await plane.kubectl(['delete', 'pod', 'one', '-n', 'small', '--now'])).code, 0);
    await until('room for another', async () => (await create('small', pod('three', both('600m')))).code === 0);
  });
});

test('scopes select the pods of a quota', async (t) => {
  const priority = (name: string, value: number): object => ({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    value,
  });
  assert.equal((await create('default', priority('high', 1000), priority('low', 1))).code, 0);
  const none = { pods: '0' };
  const scoped = (name: string, scopeName: string, more: object): object =>
    quota(name, none, { scopeSelector: { matchExpressions: [{ scopeName, ...more }] } });
  const guaranteed: Resources = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };
  const affinity = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: {}, topologyKey: 'kubernetes.io/hostname', namespaces: ['default'] },
      ],
    },
  };
  const rows: readonly [name: string, object, inside: object, outside: object][] = [
    ['besteffort', quota('q', none, { scopes: ['BestEffort'] }), pod('p'), pod('p', guaranteed)],
    ['notbesteffort', quota('q', none, { scopes: ['NotBestEffort'] }), pod('p', guaranteed), pod('p')],
    [
      'terminating',
      quota('q', none, { scopes: ['Terminating'] }),
      pod('p', {}, { activeDeadlineSeconds: 9 }),
      pod('p'),
    ],
    [
      'notterminating',
      quota('q', none, { scopes: ['NotTerminating'] }),
      pod('p'),
      pod('p', {}, { activeDeadlineSeconds: 9 }),
    ],
    [
      'priority',
      scoped('q', 'PriorityClass', { operator: 'In', values: ['high'] }),
      pod('p', {}, { priorityClassName: 'high' }),
      pod('p', {}, { priorityClassName: 'low' }),
    ],
    ['across', scoped('q', 'CrossNamespacePodAffinity', { operator: 'Exists' }), pod('p', {}, { affinity }), pod('p')],
  ];
  for (const [namespace, object, inside, outside] of rows)
    await t.test(namespace, async () => {
      await makeNamespace(namespace, object);
      await counted(namespace, 'q');
      await refused(
        namespace,
        inside,
        /pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0/,
      );
      const made = await create(namespace, outside);
      assert.equal(made.code, 0, made.stderr);
    });
});
