/** Reachability under network policies from the API server, with the caller's rights. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReachTable } from '../api/reach.ts';
import { StatusError } from '../api/status-error.ts';
import type { Client } from '../client/client.ts';
import type { ReachAnswer } from '../cluster/reach/answers.ts';
import { Cluster } from './cluster.ts';

const pod = (name: string, namespace: string, extra: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { app: name } },
  spec: { ...extra, containers: [{ name: 'c', image: 'web:1', ports: [{ name: 'http', containerPort: 8080 }] }] },
});
const policy = (name: string, namespace: string, spec: object): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace },
  spec,
});
const namespace = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { name } },
});
const from = (app: string, more: object = {}): object => ({ podSelector: { matchLabels: { app } }, ...more });

async function startCluster(): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 2, unknownImages: 'run' });
  await cluster.apply([namespace('shop'), namespace('other')]);
  await cluster.advance('5s');
  await cluster.apply([
    pod('front', 'shop'),
    pod('db', 'shop'),
    pod('stranger', 'other'),
    pod('host', 'shop', { hostNetwork: true }),
    policy('db-in', 'shop', {
      podSelector: { matchLabels: { app: 'db' } },
      ingress: [
        { from: [from('nobody')] },
        { from: [from('front')], ports: [{ port: 'http' }, { port: 53, protocol: 'UDP' }] },
      ],
    }),
    policy('front-out', 'shop', {
      podSelector: { matchLabels: { app: 'front' } },
      policyTypes: ['Egress'],
      egress: [{ to: [from('db')], ports: [{ port: 8000, endPort: 9000 }] }],
    }),
    ...['reader', 'pods-only'].flatMap((name) => [
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name, namespace: 'shop' },
        rules: [
          {
            apiGroups: [''],
            resources: ['pods', ...(name === 'reader' ? ['namespaces'] : [])],
            verbs: ['get', 'list'],
          },
          ...(name === 'reader'
            ? [{ apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['list'] }]
            : []),
        ],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name, namespace: 'shop' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
      },
    ]),
  ]);
  await cluster.advance('30s');
  return cluster;
}

async function ask<T>(client: Client, path: string): Promise<T> {
  const { body } = await client.raw({ path: `/keelson/v1/reach/api/v1/${path}` });
  return JSON.parse(Buffer.from(body).toString('utf8')) as T;
}

const pair = (client: Client, one: string, other: string): Promise<ReachAnswer> =>
  ask(client, `namespaces/${one.replace('/', '/pods/')}?to=${other}`);
const status =
  (code: number) =>
  (error: unknown): boolean =>
    error instanceof StatusError && error.status.code === code;

describe('/keelson/v1/reach', () => {
  test('names the ports that both sides allow, and the policies with their rules', async () => {
    await using cluster = await startCluster();
    const { client } = cluster;
    const answer = await pair(client, 'shop/front', 'shop/db');
    assert.equal(answer.verdict, 'Limited');
    assert.deepEqual(answer.ports, [{ protocol: 'TCP', first: 8080, last: 8080 }]);
    assert.deepEqual(answer.egress, [
      {
        namespace: 'shop',
        name: 'front-out',
        rules: [0],
        verdict: 'Limited',
        ports: [{ protocol: 'TCP', first: 8000, last: 9000 }],
      },
    ]);
    assert.deepEqual(
      answer.ingress.map(({ name, rules }) => [name, rules]),
      [['db-in', [1]]],
    );
    const back = await pair(client, 'shop/db', 'shop/front');
    assert.deepEqual([back.verdict, back.egress, back.ingress], ['Open', [], []]);
    const refused = await pair(client, 'other/stranger', 'shop/db');
    assert.equal(refused.verdict, 'Closed');
    assert.deepEqual([refused.ingress[0]?.name, refused.ingress[0]?.rules], ['db-in', []]);
    assert.equal((await pair(client, 'shop/db', 'shop/db')).because, 'Itself');
    assert.equal(
      (await pair(client, 'shop/front', 'shop/host')).verdict === 'Open',
      (await nodeOf(cluster, 'front')) === (await nodeOf(cluster, 'host')),
    );

    const table = await ask<ReachTable>(client, 'namespaces/shop/pods');
    assert.deepEqual(
      table.groups.map(({ kind, name }) => `${kind} ${name}`),
      ['Pod db', 'Pod front'],
    );
    assert.equal(table.hostNetworkPods, 1);
    assert.deepEqual(table.cells, [
      { from: 1, to: 0, verdict: 'Limited', ports: [{ protocol: 'TCP', first: 8080, last: 8080 }] },
    ]);
    const everywhere = await ask<ReachTable>(client, 'pods');
    assert.ok(
      everywhere.cells.some(
        ({ from: at, verdict }) => everywhere.groups[at]?.name === 'stranger' && verdict === 'Closed',
      ),
    );
  });

  test('requires rights to read everything it depends on, and refuses invalid requests', async () => {
    await using cluster = await startCluster();
    const as = (name: string): Client => cluster.clientFor({ name, groups: ['system:authenticated'] });
    assert.equal((await pair(as('reader'), 'shop/front', 'shop/db')).verdict, 'Limited');
    assert.equal((await ask<ReachTable>(as('reader'), 'namespaces/shop/pods')).groups.length, 2);
    await assert.rejects(pair(as('reader'), 'shop/front', 'other/stranger'), status(403));
    await assert.rejects(ask(as('reader'), 'pods'), status(403));
    await assert.rejects(pair(as('pods-only'), 'shop/front', 'shop/db'), status(403));
    await assert.rejects(pair(as('nobody'), 'shop/front', 'shop/db'), status(403));
    await assert.rejects(pair(cluster.client, 'shop/front', 'shop/gone'), status(404));
    await assert.rejects(pair(cluster.client, 'shop/front', 'nonsense'), status(400));
    await assert.rejects(ask(cluster.client, 'namespaces/shop/services'), status(404));
  });
});

async function nodeOf({ client }: Cluster, name: string): Promise<string> {
  const { body } = await client.raw({ path: `/api/v1/namespaces/shop/pods/${name}` });
  return (JSON.parse(Buffer.from(body).toString('utf8')) as { spec: { nodeName: string } }).spec.nodeName;
}
