/** Charts of the last hour from the API server, within the caller's rights. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChartSet } from '../api/charts.ts';
import { StatusError } from '../api/status-error.ts';
import type { Client } from '../client/client.ts';
import { Cluster } from './cluster.ts';

const role = (name: string, namespace: string, rules: readonly object[]): object[] => [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: namespace === '' ? 'ClusterRole' : 'Role',
    metadata: { name, ...(namespace === '' ? {} : { namespace }) },
    rules,
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name, ...(namespace === '' ? {} : { namespace }) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: namespace === '' ? 'ClusterRole' : 'Role', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
  },
];
const may = (verbs: string, group: string, resources: string): object => ({
  apiGroups: [group],
  resources: resources.split(','),
  verbs: verbs.split(','),
});

async function startCluster(): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 2, unknownImages: 'run' });
  cluster.image('web:1', { usage: { cpu: '150m', memory: '40Mi' } });
  cluster.image('crasher:1', { exits: { after: '5s', code: 1 } });
  const limits = { cpu: '500m', memory: '64Mi' };
  await cluster.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } },
  ]);
  await cluster.advance('5s');
  await cluster.apply([
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'c', image: 'web:1', resources: { limits } }] },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'crasher', namespace: 'other' },
      spec: { containers: [{ name: 'c', image: 'crasher:1' }] },
    },
    ...role('one-pod', 'shop', [{ ...may('get', '', 'pods'), resourceNames: ['none'] }]),
    ...role('lister', 'shop', [may('get,list', '', 'pods'), may('get,list', 'apps', 'deployments')]),
    ...role('no-pods', 'shop', [may('get,list', 'apps', 'deployments')]),
    ...role('node-reader', '', [may('get,list', '', 'nodes')]),
    ...role('scraper', '', [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]),
    ...role('guesser', '', [{ nonResourceURLs: ['/keelson/v1/api-charts'], verbs: ['get'] }]),
  ]);
  await cluster.advance('30s');
  return cluster;
}

async function ask(client: Client, path: string): Promise<ChartSet> {
  const { body } = await client.raw({ path: `/keelson/v1/${path}` });
  return JSON.parse(Buffer.from(body).toString('utf8')) as ChartSet;
}

const status =
  (code: number) =>
  (error: unknown): boolean =>
    error instanceof StatusError && error.status.code === code;

const newest = ({ charts }: ChartSet): Record<string, unknown> =>
  Object.fromEntries(
    charts.map(({ name, series }) => [
      name,
      series.map(({ name: line, object, values }) => [line ?? object?.name, values.at(-1)]),
    ]),
  );

const WEB = 'charts/apis/apps/v1/namespaces/shop/deployments/web';

describe('charts', () => {
  test('are served of a pod, a workload, a node, a list and the API', async () => {
    await using cluster = await startCluster();
    const { client } = cluster;
    assert.deepEqual((await ask(client, WEB)).times, [], 'nothing is collected before somebody asks');
    await cluster.advance('120s');
    const web = await ask(client, WEB);
    assert.equal(web.times.length, 6);
    assert.deepEqual([web.kind, web.periodSeconds, web.complete], ['ChartSet', 30, true]);
    assert.deepEqual(newest(web)['cpu'], [['used', 0.45]]);
    assert.deepEqual(newest(web)['memory'], [['used', Number((3 * 40 * 2 ** 20).toPrecision(4))]]);
    const [pod] = JSON.parse(
      Buffer.from((await client.raw({ path: '/api/v1/namespaces/shop/pods' })).body).toString(),
    ).items;
    const one = await ask(client, `charts/api/v1/namespaces/shop/pods/${pod.metadata.name}`);
    assert.deepEqual(newest(one)['cpu'], [['used', 0.15]]);
    assert.deepEqual(
      one.charts.map(({ name, limit }) => [name, limit]),
      [
        ['cpu', 0.5],
        ['memory', 64 * 2 ** 20],
        ['network', undefined],
        ['restarts', undefined],
      ],
    );
    const crasher = await ask(client, 'charts/api/v1/namespaces/other/pods/crasher');
    const restarts = crasher.charts.find(({ name }) => name === 'restarts')!.series[0]!.values;
    const { status: now } = JSON.parse(
      Buffer.from((await client.raw({ path: '/api/v1/namespaces/other/pods/crasher' })).body).toString(),
    );
    const counted = restarts.reduce<number>((sum, each) => sum + (each ?? 0), 0);
    assert.ok(counted >= 2 && counted <= now.containerStatuses[0].restartCount, String(counted));
    const all = await ask(client, 'charts/api/v1/pods');
    assert.deepEqual(
      all.charts[0]!.series.map(({ name, object, values }) => [name ?? object!.namespace, values.at(-1)]),
      [
        ['total', 0.45],
        ['shop', 0.15],
        ['shop', 0.15],
        ['shop', 0.15],
      ],
    );
    const list = await ask(client, 'charts/apis/apps/v1/deployments');
    assert.deepEqual(newest(list)['cpu'], [
      ['total', 0.45],
      ['web', 0.45],
    ]);
    const nodes = newest(await ask(client, 'charts/api/v1/nodes'))['cpu'] as [string, number][];
    assert.deepEqual(nodes.map(([name]) => name).sort(), ['node-1', 'node-2', 'total']);
    const { charts } = await ask(client, 'api-charts');
    assert.deepEqual(
      charts.map(({ name }) => name),
      ['requests', 'latency', 'failures', 'load'],
    );
    for (const { name, values } of charts[0]!.series.slice(0, 2))
      assert.ok(
        values.some((value) => value! > 0),
        name,
      );
  });

  test("require the caller's rights", async () => {
    await using cluster = await startCluster();
    const [{ name }] = JSON.parse(
      Buffer.from((await cluster.client.raw({ path: '/api/v1/namespaces/shop/pods' })).body).toString(),
    ).items.map(({ metadata }: { metadata: { name: string } }) => metadata);
    const PODS = 'charts/api/v1/namespaces/shop/pods';
    const answers: readonly (readonly [user: string, path: string, code: number])[] = [
      ['lister', `${PODS}/${name}`, 200],
      ['lister', PODS, 200],
      ['lister', WEB, 200],
      ['lister', 'charts/apis/apps/v1/namespaces/shop/deployments', 200],
      ['lister', 'charts/api/v1/pods', 403],
      ['lister', 'charts/api/v1/namespaces/other/pods/crasher', 403],
      ['lister', 'charts/api/v1/nodes', 403],
      ['lister', 'api-charts', 403],
      ['one-pod', `${PODS}/${name}`, 403],
      ['no-pods', `${PODS}/${name}`, 403],
      ['no-pods', WEB, 403],
      ['no-pods', 'charts/apis/apps/v1/namespaces/shop/deployments', 403],
      ['node-reader', 'charts/api/v1/nodes', 200],
      ['node-reader', 'charts/api/v1/nodes/node-1', 200],
      ['node-reader', 'charts/api/v1/pods', 403],
      ['scraper', 'api-charts', 200],
      ['guesser', 'api-charts', 403],
    ];
    for (const [user, path, code] of answers) {
      const asked = ask(cluster.clientFor({ name: user, groups: ['system:authenticated'] }), path);
      if (code === 200) assert.equal((await asked).kind, 'ChartSet', `${user} ${path}`);
      else await assert.rejects(asked, status(code), `${user} ${path}`);
    }
    const names = async (user: string): Promise<string[]> =>
      (
        await ask(cluster.clientFor({ name: user, groups: ['system:authenticated'] }), 'charts/api/v1/nodes/node-1')
      ).charts.map((chart) => chart.name);
    assert.deepEqual(await names('node-reader'), ['cpu', 'memory', 'network'], 'restarts are of pods');
  });

  test('of other kinds, of missing objects, and with selectors are refused', async () => {
    await using cluster = await startCluster();
    const { client } = cluster;
    await assert.rejects(ask(client, 'charts/api/v1/namespaces/shop/configmaps/kube-root-ca.crt'), status(404));
    await assert.rejects(ask(client, 'charts/api/v1/namespaces/shop/pods/none'), status(404));
    await assert.rejects(ask(client, 'charts/api/v1/pods?labelSelector=app%3Dweb'), status(400));
    await assert.rejects(client.raw({ method: 'POST', path: '/keelson/v1/api-charts' }), status(405));
  });

  test('of a recreated namespace contain nothing of the former one', async () => {
    await using cluster = await startCluster();
    const { client } = cluster;
    await ask(client, 'charts/api/v1/pods');
    await cluster.advance('60s');
    await client.raw({ method: 'DELETE', path: '/api/v1/namespaces/shop' });
    await cluster.advance('120s');
    const total = async (path: string): Promise<unknown> => (await ask(client, path)).charts[0]!.series[0]!.values[1];
    assert.equal(await total('charts/api/v1/namespaces/shop/pods'), null);
    await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    await cluster.advance('10s');
    assert.equal(await total('charts/api/v1/namespaces/shop/pods'), null);
  });
});
