/** Explanations of the API server: with the caller's rights, equal to those over the API, and limited. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Pods } from '../api/gen/resources.ts';
import { forbidden, StatusError, statusFailure } from '../api/status-error.ts';
import type { Client } from '../client/client.ts';
import { image } from '../cri/sim/sim-image.ts';
import { requestTroubles, requestExplanation, requestExplanations } from '../why/request-explanation.ts';
import { explainObject } from '../why/explain.ts';
import type { Explanation, ExplanationList } from '../why/explanation.ts';
import { firstCauses } from '../why/explanation.ts';
import { listRefused } from '../why/requests/read-refused.ts';
import type { Troubles } from '../why/trouble.ts';
import { Cluster } from './cluster.ts';

const needsSecret = (name: string, namespace: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { app: name } },
  spec: { containers: [{ name: 'web', image: 'web:1', envFrom: [{ secretRef: { name: 'keys' } }] }] },
});
const may = (name: string, rules: object[]): object[] => [
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
  },
];
const read = (resources: string[], verbs = ['get', 'list']): object => ({ apiGroups: [''], resources, verbs });
const user = (name: string) => ({ name, groups: ['system:authenticated'] });

async function startCluster(): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 1, images: [image('web:1')] });
  await cluster.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    needsSecret('waits', 'shop'),
    needsSecret('other', 'default'),
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'fine' },
      spec: { containers: [{ name: 'a', image: 'web:1' }] },
    },
    ...may('ann', [read(['pods', 'nodes', 'events'])]),
    ...may('cay', [read(['pods', 'secrets', 'nodes', 'events'])]),
  ]);
  await cluster.advance('1m');
  return cluster;
}

async function json<T>(client: Client, path: string, headers: Record<string, string> = {}): Promise<T> {
  const { body } = await client.raw({ path: `/keelson/v1/${path}`, headers });
  return JSON.parse(Buffer.from(body).toString('utf8')) as T;
}

function status(code: number): (error: unknown) => boolean {
  return (error) => error instanceof StatusError && error.status.code === code;
}

const WAITS = 'why/api/v1/namespaces/shop/pods/waits';
const codes = ({ causes }: Explanation): string[] => firstCauses(causes).map(({ code }) => code);

describe('the API server explains', () => {
  test('an object as clients do over its API', async () => {
    await using cluster = await startCluster();
    const { client, nowMs } = cluster;
    const served = await json<Explanation>(client, WAITS);
    const object = await client.resource(Pods).get({ namespace: 'shop', name: 'waits' });
    assert.deepEqual(served, JSON.parse(JSON.stringify(await explainObject(Pods as never, object, { client, nowMs }))));
    assert.deepEqual(codes(served), ['SecretMissing']);
    await assert.rejects(json(client, 'why/api/v1/namespaces/shop/pods/absent'), status(404));
  });

  test("with the caller's rights: forbidden reads are listed, and are not recorded as the caller's refused requests", async () => {
    await using cluster = await startCluster();
    const ann = cluster.clientFor(user('ann'));
    const explanation = await json<Explanation>(ann, WAITS);
    assert.equal(codes(explanation).includes('SecretMissing'), false);
    assert.equal(
      explanation.notReadable.some((what) => what.startsWith('cannot see secret/shop/keys: ')),
      true,
    );
    assert.deepEqual(codes(await json<Explanation>(cluster.clientFor(user('cay')), WAITS)), ['SecretMissing']);
    assert.deepEqual(await listRefused(ann, false), []);
    await assert.rejects(json(ann, 'why/api/v1/namespaces/shop/secrets/keys'), status(403));
    await assert.rejects(json(ann, 'why/apis/apps/v1/namespaces/shop/deployments'), status(403));
    await assert.rejects(json(cluster.clientFor(user('nobody')), WAITS), status(403));
  });

  test('no more to an impersonating user than each single read would', async () => {
    await using cluster = await startCluster();
    const wide = { apiGroups: ['authentication.k8s.io'], resources: ['users'], verbs: ['impersonate:user-info'] };
    const podsAlone = read(['pods'], ['impersonate-on:user-info:get', 'impersonate-on:user-info:list']);
    await cluster.apply([
      ...may('bob', [wide, podsAlone]),
      ...may('eve', [{ apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] }]),
    ]);
    await cluster.settle();
    const as = async (name: string): Promise<Explanation> =>
      json(cluster.clientFor(user(name)), WAITS, { 'impersonate-user': 'cay' });
    assert.deepEqual(codes(await as('eve')), ['SecretMissing']);
    const constrained = await as('bob');
    assert.equal(codes(constrained).includes('SecretMissing'), false);
    assert.equal(
      constrained.notReadable.some((what) => what.startsWith('cannot see secret/shop/keys: ')),
      true,
    );
    await assert.rejects(json(cluster.clientFor(user('ann')), WAITS, { 'impersonate-user': 'cay' }), status(403));
  });

  test('lists: objects in trouble, by namespace and labels', async () => {
    await using cluster = await startCluster();
    const names = async (path: string) =>
      (await json<ExplanationList>(cluster.client, path)).items.map(({ object }) => object.name);
    assert.deepEqual((await names('why/api/v1/pods')).toSorted(), ['other', 'waits']);
    assert.deepEqual(await names('why/api/v1/namespaces/shop/pods'), ['waits']);
    assert.deepEqual(await names('why/api/v1/pods?labelSelector=app%3Dother'), ['other']);
    assert.deepEqual(await names('why/api/v1/pods?fieldSelector=metadata.name%3Dfine'), []);
    await assert.rejects(names('why/api/v1/pods?labelSelector=%3D%3D'), status(400));
  });

  test('objects in trouble, in all namespaces or in one', async () => {
    await using cluster = await startCluster();
    const found = async (query: string, client = cluster.client) => {
      const troubles = await json<Troubles>(client, `trouble${query}`);
      return { ...troubles, names: troubles.found.map(({ object }) => object.name).toSorted() };
    };
    assert.deepEqual((await found('')).names, ['other', 'waits']);
    assert.deepEqual((await found('?namespace=shop')).names, ['waits']);
    const short = await found('?limit=1');
    assert.deepEqual([short.names.length, short.notShown], [1, 1]);
    const ann = await found('', cluster.clientFor(user('ann')));
    assert.deepEqual(ann.names, ['other', 'waits']);
    assert.equal(
      ann.notReadable.some((what) => what.startsWith('cannot see deployments: ')),
      true,
    );
    for (const limit of ['0', '-1', 'x', '']) await assert.rejects(found(`?limit=${limit}`), status(400));
    assert.deepEqual((await found('', cluster.clientFor(user('nobody')))).names, []);
  });

  test('and for other servers, which do not explain, the client reads the objects itself', async () => {
    await using cluster = await startCluster();
    const { nowMs } = cluster;
    const answers = [
      statusFailure(404, 'NotFound', '404 page not found'),
      forbidden({ group: '', resource: '' }, '', 'User "kubernetes-admin" cannot get path "/keelson/v1/why"'),
    ];
    for (const answer of answers) {
      const asked: string[] = [];
      const raw: Client['raw'] = async (request) => {
        asked.push(request.path);
        if (request.path.startsWith('/keelson/')) throw answer;
        return cluster.client.raw(request);
      };
      const client = { ...cluster.client, raw };
      const key = { namespace: 'shop', name: 'waits' };
      assert.deepEqual(codes(await requestExplanation(Pods as never, key, { client, nowMs })), ['SecretMissing']);
      const { items } = await requestExplanations(Pods as never, { client, nowMs, namespace: 'shop' });
      assert.deepEqual(items.flatMap(codes), ['SecretMissing']);
      const { signal } = new AbortController();
      assert.equal((await requestTroubles({ client, nowMs, signal, namespace: 'shop' })).found.length, 1);
      assert.equal(asked[0], `/keelson/v1/${WAITS}`);
      await assert.rejects(
        requestExplanation(Pods as never, { ...key, name: 'absent' }, { client, nowMs }),
        status(404),
      );
    }
  });

  test('many requests at once, of one user only a few', async () => {
    await using cluster = await startCluster();
    const asked = await Promise.allSettled(Array.from({ length: 5 }, () => json<Troubles>(cluster.client, 'trouble')));
    const refused = asked.filter((one) => one.status === 'rejected');
    assert.equal(refused.length, 3);
    for (const { reason } of refused) assert.equal(status(429)(reason), true);
    assert.equal((await json<Troubles>(cluster.client, 'trouble')).kind, 'Troubles');
  });
});
