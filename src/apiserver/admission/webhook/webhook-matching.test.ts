import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOOK_ADDRESS, patchResponse, startWithWebhooks } from './webhook-fixture.ts';
import { allow, map, MAPS } from './webhook-rules-fixture.ts';

test('mutating webhooks run by configuration name, each receives the changes of those before it; validating ones receive the result', async () => {
  const server = await startWithWebhooks();
  const append = (letter: string) => ({
    name: letter,
    answer: (request: { object?: object }) => {
      const text = (request.object as { data: { a: string } }).data.a;
      return patchResponse({ op: 'replace', path: '/data/a', value: text + letter });
    },
  });
  await server.configure(append('b'));
  await server.configure(append('a'));
  await server.configure({ kind: 'Validating', name: 'judge', answer: allow });
  const { body } = await server.send('POST', MAPS, map('m', { a: '-' }));
  assert.deepEqual(body.data, { a: '-ab' });
  const [judged] = server.reviews.filter(({ path }) => path === '/judge');
  assert.deepEqual((judged!.object as { data?: object }).data, { a: '-ab' });
  await server.server.stop();
});

test('a webhook with reinvocation is called again, once, when a later one changed the object', async () => {
  const server = await startWithWebhooks();
  await server.configure({ name: 'a', answer: allow, hook: { reinvocationPolicy: 'IfNeeded' } });
  await server.configure({ name: 'b', answer: allow });
  await server.configure({
    name: 'c',
    answer: ({ object }) => {
      const has = 'c' in (object as { data: object }).data;
      return has ? allow() : patchResponse({ op: 'add', path: '/data/c', value: '1' });
    },
  });
  const { body } = await server.send('POST', MAPS, map('m'));
  assert.deepEqual(body.data, { a: 'b', c: '1' });
  assert.deepEqual(
    server.reviews.map(({ path }) => path),
    ['/a', '/b', '/c', '/a'],
  );
  await server.server.stop();
});

test('operations, selectors and scopes', async () => {
  const server = await startWithWebhooks();
  await server.configure({
    kind: 'Validating',
    name: 'all',
    answer: allow,
    hook: {
      rules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE', 'DELETE'], resources: ['configmaps'] },
        { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['*'], resources: ['deployments/scale'] },
      ],
      objectSelector: { matchLabels: { see: 'me' } },
      namespaceSelector: {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] }],
      },
    },
  });
  for (const name of ['default', 'kube-system']) {
    await server.send('POST', '/api/v1/namespaces', {
      metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    });
    const maps = `/api/v1/namespaces/${name}/configmaps`;
    await server.send('POST', maps, { metadata: { name: 'seen', labels: { see: 'me' } } });
    await server.send('POST', maps, map('unseen'));
    for (const one of ['seen', 'unseen'])
      await server.send(
        'PATCH',
        `${maps}/${one}`,
        { data: { x: 'y' } },
        { 'content-type': 'application/merge-patch+json' },
      );
    await server.send('DELETE', `${maps}/seen`);
  }
  assert.deepEqual(
    server.reviews.map(({ operation, namespace, name, object, oldObject }) => [
      operation,
      `${namespace}/${name}`,
      object === null,
      oldObject === null,
    ]),
    [
      ['UPDATE', 'default/seen', false, false],
      ['DELETE', 'default/seen', true, false],
    ],
  );
  await server.server.stop();
});

test('matchPolicy: an equivalent version is converted for the webhook and its patch back', async () => {
  const hpa = {
    metadata: { name: 'h' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 50,
    },
  };
  for (const matchPolicy of ['Equivalent', 'Exact']) {
    const server = await startWithWebhooks();
    await server.configure({
      name: 'x',
      answer: () => patchResponse({ op: 'replace', path: '/spec/maxReplicas', value: 7 }),
      hook: {
        matchPolicy,
        rules: [
          {
            apiGroups: ['autoscaling'],
            apiVersions: ['v2'],
            operations: ['*'],
            resources: ['horizontalpodautoscalers'],
          },
        ],
      },
    });
    const path = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
    const { body, text } = await server.send('POST', path, hpa);
    assert.equal(body.spec?.maxReplicas, matchPolicy === 'Equivalent' ? 7 : 3, text);
    assert.equal(body.spec.targetCPUUtilizationPercentage, 50);
    const [review] = server.reviews;
    assert.equal(review?.resource.version, matchPolicy === 'Equivalent' ? 'v2' : undefined);
    if (review !== undefined) {
      assert.equal(review.requestResource?.version, 'v1');
      assert.equal((review.object as { apiVersion?: string }).apiVersion, 'autoscaling/v2');
    }
    await server.server.stop();
  }
});

test('a scale is reviewed and patched as a Scale', async () => {
  const server = await startWithWebhooks();
  await server.configure({
    name: 'x',
    answer: () => patchResponse({ op: 'replace', path: '/spec/replicas', value: 2 }),
    hook: {
      rules: [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['deployments/scale'] }],
    },
  });
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await server.send('POST', deployments, {
    metadata: { name: 'd' },
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  });
  const { body, text } = await server.send('PUT', `${deployments}/d/scale`, {
    metadata: { name: 'd' },
    spec: { replicas: 9 },
  });
  assert.equal(body.spec?.replicas, 2, text);
  const [review] = server.reviews;
  assert.ok(review);
  assert.equal(review.kind.kind, 'Scale');
  assert.equal((review.object as { spec: { replicas: number } }).spec.replicas, 9);
  assert.equal((review.oldObject as { spec: { replicas: number } }).spec.replicas, 1);
  await server.server.stop();
});

test('webhooks are never called for webhook configurations; dryRun is passed on', async () => {
  const server = await startWithWebhooks();
  await server.configure({
    name: 'x',
    answer: allow,
    hook: { rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }] },
  });
  await server.configure({ name: 'y', answer: allow, hook: { rules: [] } });
  assert.equal(server.reviews.length, 0);
  await server.send('POST', `${MAPS}?dryRun=All`, map('a'));
  assert.deepEqual(
    server.reviews.map(({ dryRun }) => dryRun),
    [true],
  );
  await server.server.stop();
});

test('a service is reached through a ready endpoint of the right port', async () => {
  const server = await startWithWebhooks();
  await server.configure({
    name: 'x',
    answer: () => ({ allowed: false, status: { message: 'reached' } }),
    hook: { clientConfig: { service: { namespace: 'default', name: 'hook', path: '/x', port: 8443 } } },
  });
  const ports = [
    { name: 'other', port: 1 },
    { name: 'hook', port: 8443 },
  ];
  await server.send('POST', '/api/v1/namespaces/default/services', { metadata: { name: 'hook' }, spec: { ports } });
  const none = await server.send('POST', MAPS, map('a'));
  assert.match(none.body.message, /no endpoints available for service "hook"$/);
  const slice = await server.send('POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    metadata: { name: 'hook-1', labels: { 'kubernetes.io/service-name': 'hook' } },
    addressType: 'IPv4',
    ports: [
      { name: 'other', port: 1 },
      { name: 'hook', port: 443 },
    ],
    endpoints: [
      { addresses: ['10.0.0.66'], conditions: { ready: false } },
      { addresses: [HOOK_ADDRESS], conditions: { ready: true } },
    ],
  });
  assert.equal(slice.status, 201, slice.text);
  const { body } = await server.send('POST', MAPS, map('a'));
  assert.equal(body.message, 'admission webhook "x.example.com" denied the request: reached');
  await server.server.stop();
});
