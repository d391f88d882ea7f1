/** Objects of the API are created, read, listed, changed and deleted, in every format. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtobuf } from '../api/codec/protobuf.ts';
import { startTestServer } from './server-fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const PODS_PATH = '/api/v1/namespaces/default/pods';
const configMap = (name: string, data: Record<string, string> = { a: '1' }, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});
const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

test('an object is created, read, updated, patched and deleted', async () => {
  const { send } = await startTestServer();
  const created = await send('POST', MAPS, configMap('one'));
  assert.equal(created.status, 201);
  assert.equal(created.body.metadata.namespace, 'default');
  assert.match(created.body.metadata.uid, /^[0-9a-f-]{36}$/);
  assert.equal(created.body.metadata.creationTimestamp, '2026-01-01T00:00:00Z');
  assert.equal(created.body.metadata.managedFields[0].manager, 'test');

  const got = await send('GET', `${MAPS}/one`);
  assert.deepEqual(got.body, created.body);

  const updated = await send('PUT', `${MAPS}/one`, { ...got.body, data: { a: '2' } });
  assert.equal(updated.status, 200);
  assert.ok(Number(updated.body.metadata.resourceVersion) > Number(got.body.metadata.resourceVersion));

  const again = await send('PUT', `${MAPS}/one`, updated.body);
  assert.equal(
    again.body.metadata.resourceVersion,
    updated.body.metadata.resourceVersion,
    'an update without change writes nothing',
  );

  const stale = await send('PUT', `${MAPS}/one`, { ...got.body, data: { a: '3' } });
  assert.equal(stale.status, 409);
  assert.equal(
    stale.body.message,
    'Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again',
  );

  const removed = await send('DELETE', `${MAPS}/one`);
  assert.equal(removed.status, 200);
  assert.deepEqual(
    [removed.body.status, removed.body.details.name, removed.body.details.kind],
    ['Success', 'one', 'configmaps'],
  );
  assert.equal((await send('GET', `${MAPS}/one`)).body.message, 'configmaps "one" not found');
});

test('patches that name no revision never lose to each other, however many there are', async () => {
  const slow = { name: 'Slow', handles: () => true, validate: async () => {} }; // All read before the first writes.
  const { send } = await startTestServer({ admission: [slow] });
  await send('POST', MAPS, configMap('p'));
  const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);
  const merge = { 'content-type': 'application/merge-patch+json' };
  const answers = await Promise.all(keys.map((key) => send('PATCH', `${MAPS}/p`, { data: { [key]: 'x' } }, merge)));
  assert.deepEqual(
    answers.filter(({ status }) => status !== 200).map(({ text }) => text),
    [],
  );
  assert.deepEqual(Object.keys((await send('GET', `${MAPS}/p`)).body.data).sort(), ['a', ...keys].sort());
});

test('patches of all four kinds', async () => {
  const { send } = await startTestServer();
  await send('POST', MAPS, configMap('p'));
  const cases: [string, unknown, Record<string, string>][] = [
    ['application/merge-patch+json', { data: { b: '2' } }, { a: '1', b: '2' }],
    ['application/json-patch+json', [{ op: 'remove', path: '/data/a' }], { b: '2' }],
    ['application/strategic-merge-patch+json', { data: { c: '3' } }, { b: '2', c: '3' }],
  ];
  for (const [type, patch, data] of cases) {
    const answer = await send('PATCH', `${MAPS}/p`, patch, { 'content-type': type });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body.data, data, type);
  }
  const apply = { 'content-type': 'application/apply-patch+yaml' };
  const applied = await send('PATCH', `${MAPS}/p?fieldManager=me`, configMap('p', { d: '4' }), apply);
  assert.deepEqual(applied.body.data, { b: '2', c: '3', d: '4' });
  const fresh = await send(
    'PATCH',
    `${MAPS}/new?fieldManager=me`,
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\ndata: {x: why}\n',
    apply,
  );
  assert.equal(fresh.status, 201, fresh.text);
  assert.deepEqual(
    fresh.body.metadata.managedFields.map((entry: { manager: string; operation: string }) => [
      entry.manager,
      entry.operation,
    ]),
    [['me', 'Apply']],
  );
  const clash = await send('PATCH', `${MAPS}/new?fieldManager=other`, configMap('new', { x: 'z' }), apply);
  assert.equal(clash.status, 409);
  assert.match(clash.body.message, /Apply failed with 1 conflict: conflict with "me"/);
  const forced = await send('PATCH', `${MAPS}/new?fieldManager=other&force=true`, configMap('new', { x: 'z' }), apply);
  assert.deepEqual(forced.body.data, { x: 'z' });
});

test('unknown fields are warned of by default', async () => {
  const { send } = await startTestServer();
  const answer = await send('POST', MAPS, { ...configMap('w'), foo: 1 });
  assert.equal(answer.status, 201);
  assert.deepEqual(answer.headers['warning'], ['299 - "unknown field \\"foo\\""']);
  assert.equal(answer.body.foo, undefined);
});

test('generated names differ and dry runs store nothing', async () => {
  const { send } = await startTestServer();
  const draft = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'g-' } };
  const first = await send('POST', MAPS, draft);
  const second = await send('POST', MAPS, draft);
  assert.match(first.body.metadata.name, /^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.notEqual(first.body.metadata.name, second.body.metadata.name);
  assert.equal((await send('POST', `${MAPS}?dryRun=All`, configMap('dry'))).status, 201);
  assert.equal((await send('GET', `${MAPS}/dry`)).status, 404);
  const name = first.body.metadata.name as string;
  assert.equal((await send('DELETE', `${MAPS}/${name}?dryRun=All`)).status, 200);
  const patched = await send(
    'PATCH',
    `${MAPS}/${name}?dryRun=All`,
    { data: { z: '1' } },
    { 'content-type': 'application/merge-patch+json' },
  );
  assert.deepEqual(patched.body.data, { z: '1' });
  assert.equal((await send('GET', `${MAPS}/${name}`)).body.data, undefined);
});

test('lists come in pages of one revision, with selectors and counts', async () => {
  const { send } = await startTestServer();
  for (let i = 0; i < 7; i++)
    await send('POST', MAPS, configMap(`m${i}`, {}, { labels: { parity: i % 2 === 0 ? 'even' : 'odd' } }));
  const first = await send('GET', `${MAPS}?limit=3`);
  assert.equal(first.body.kind, 'ConfigMapList');
  assert.equal(first.body.metadata.remainingItemCount, 4);
  await send('DELETE', `${MAPS}/m4`);
  await send('POST', MAPS, configMap('m9'));
  const second = await send('GET', `${MAPS}?limit=3&continue=${first.body.metadata.continue}`);
  assert.deepEqual(
    second.body.items.map((i: { metadata: { name: string } }) => i.metadata.name),
    ['m3', 'm4', 'm5'],
    'as of the first page',
  );
  assert.equal(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
  const third = await send('GET', `${MAPS}?limit=3&continue=${second.body.metadata.continue}`);
  assert.deepEqual([third.body.items.length, third.body.metadata.continue], [1, undefined]);
  const odd = await send('GET', `${MAPS}?labelSelector=parity%3Dodd`);
  assert.deepEqual(
    odd.body.items.map((i: { metadata: { name: string } }) => i.metadata.name),
    ['m1', 'm3', 'm5'],
  );
  const one = await send('GET', `${MAPS}?fieldSelector=metadata.name%3Dm1`);
  assert.equal(one.body.items.length, 1);
  const exact = await send(
    'GET',
    `${MAPS}?resourceVersion=${first.body.metadata.resourceVersion}&resourceVersionMatch=Exact`,
  );
  assert.equal(exact.body.items.length, 7);
});

test('a page older than compaction is refused with a token to continue', async () => {
  const { send, storage } = await startTestServer();
  for (let i = 0; i < 4; i++) await send('POST', MAPS, configMap(`m${i}`));
  const first = await send('GET', `${MAPS}?limit=1`);
  for (let i = 0; i < 6; i++) {
    await send('POST', MAPS, configMap(`n${i}`));
    await send('GET', `${MAPS}?limit=1`);
  }
  await storage.store.compact(storage.hub.revision);
  const gone = await send('GET', `${MAPS}?limit=1&continue=${first.body.metadata.continue}`);
  assert.equal(gone.status, 410);
  assert.equal(gone.body.reason, 'Expired');
  const rest = await send('GET', `${MAPS}?continue=${gone.body.metadata.continue}`);
  assert.equal(rest.body.items[0].metadata.name, 'm1');
});

test('graceful deletion: marked, shortened, then deleted', async () => {
  const { send } = await startTestServer();
  await send('POST', PODS_PATH, pod('p', { nodeName: 'n' }));
  const marked = await send('DELETE', `${PODS_PATH}/p`);
  assert.deepEqual(
    [
      marked.status,
      marked.body.metadata.deletionTimestamp,
      marked.body.metadata.deletionGracePeriodSeconds,
      marked.body.metadata.generation,
    ],
    [200, '2026-01-01T00:00:30Z', 30, 2],
  );
  const longer = await send('DELETE', `${PODS_PATH}/p`, { gracePeriodSeconds: 60 });
  assert.equal(longer.body.metadata.deletionGracePeriodSeconds, 30);
  const shorter = await send('DELETE', `${PODS_PATH}/p`, { gracePeriodSeconds: 5 });
  assert.deepEqual(
    [shorter.body.metadata.deletionTimestamp, shorter.body.metadata.deletionGracePeriodSeconds],
    ['2026-01-01T00:00:05Z', 5],
  );
  await send('DELETE', `${PODS_PATH}/p`, { gracePeriodSeconds: 0 });
  assert.equal((await send('GET', `${PODS_PATH}/p`)).status, 404);
});

test('finalizers keep an object until the last one is removed', async () => {
  const { send } = await startTestServer();
  await send('POST', MAPS, configMap('f', {}, { finalizers: ['example.com/x'] }));
  const marked = await send('DELETE', `${MAPS}/f`, { propagationPolicy: 'Foreground' });
  assert.deepEqual(marked.body.metadata.finalizers, ['example.com/x', 'foregroundDeletion']);
  assert.equal(marked.body.metadata.deletionGracePeriodSeconds, 0);
  const adding = await send(
    'PATCH',
    `${MAPS}/f`,
    { metadata: { finalizers: ['example.com/x', 'foregroundDeletion', 'example.com/y'] } },
    { 'content-type': 'application/merge-patch+json' },
  );
  assert.equal(adding.status, 422);
  const last = await send(
    'PATCH',
    `${MAPS}/f`,
    { metadata: { finalizers: null } },
    { 'content-type': 'application/merge-patch+json' },
  );
  assert.equal(last.status, 200);
  assert.equal((await send('GET', `${MAPS}/f`)).status, 404);
});

test('a namespace stays until its spec has no finalizer', async () => {
  const { send } = await startTestServer();
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'n' }, spec: { finalizers: ['kubernetes'] } });
  const marked = await send('DELETE', '/api/v1/namespaces/n');
  assert.ok(marked.body.metadata.deletionTimestamp);
  assert.equal((await send('PUT', '/api/v1/namespaces/n', { ...marked.body, spec: {} })).status, 200);
  assert.equal((await send('GET', '/api/v1/namespaces/n')).status, 404);
});

test('status and scale', async () => {
  const { send } = await startTestServer();
  const path = '/apis/apps/v1/namespaces/default/deployments';
  const made = await send('POST', path, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: { replicas: 2, selector: { matchLabels: { a: 'b' } }, template: { metadata: {}, spec: { containers: [] } } },
    status: { replicas: 9 },
  });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.body.status.replicas, undefined);
  const status = await send(
    'PATCH',
    `${path}/d/status`,
    { spec: { replicas: 7 }, status: { replicas: 2 } },
    { 'content-type': 'application/merge-patch+json' },
  );
  assert.deepEqual([status.body.spec.replicas, status.body.status.replicas], [2, 2]);
  const scale = await send('GET', `${path}/d/scale`);
  assert.deepEqual(
    [scale.body.kind, scale.body.spec.replicas, scale.body.status],
    ['Scale', 2, { replicas: 2, selector: 'app=web' }],
  );
  const scaled = await send('PUT', `${path}/d/scale`, { ...scale.body, spec: { replicas: 0 } });
  assert.equal(scaled.status, 200, scaled.text);
  assert.equal((await send('GET', `${path}/d`)).body.spec.replicas, 0);
  const patched = await send(
    'PATCH',
    `${path}/d/scale`,
    { spec: { replicas: 3 } },
    { 'content-type': 'application/merge-patch+json' },
  );
  assert.equal(patched.body.spec.replicas, 3);
  assert.equal(
    (
      await send(
        'PATCH',
        `${path}/d/scale`,
        { spec: { replicas: -1 } },
        { 'content-type': 'application/merge-patch+json' },
      )
    ).status,
    422,
  );
});

test('a collection is deleted by selector', async () => {
  const { send } = await startTestServer();
  for (const [name, app] of [
    ['a', 'x'],
    ['b', 'x'],
    ['c', 'y'],
  ] as const)
    await send('POST', MAPS, configMap(name, {}, { labels: { app } }));
  const answer = await send('DELETE', `${MAPS}?labelSelector=app%3Dx`);
  assert.equal(answer.body.items.length, 2);
  assert.deepEqual(
    (await send('GET', MAPS)).body.items.map((i: { metadata: { name: string } }) => i.metadata.name),
    ['c'],
  );
});

test('forms: table, bare metadata, YAML, protobuf', async () => {
  const { send } = await startTestServer();
  await send('POST', MAPS, configMap('t'));
  const table = await send('GET', MAPS, undefined, {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  });
  assert.deepEqual(
    [table.body.kind, table.body.rows[0].cells, table.body.rows[0].object.kind],
    ['Table', ['t', '0s'], 'PartialObjectMetadata'],
  );
  const meta = await send('GET', `${MAPS}/t`, undefined, {
    accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  });
  assert.deepEqual([meta.body.kind, meta.body.data], ['PartialObjectMetadata', undefined]);
  const yaml = await send('GET', `${MAPS}/t`, undefined, { accept: 'application/yaml' });
  assert.match(yaml.text, /^apiVersion: v1\n/);
  const protobuf = 'application/vnd.kubernetes.protobuf';
  const binary = await send('GET', `${MAPS}/t`, undefined, { accept: protobuf });
  assert.equal(binary.headers['content-type'], protobuf);
  assert.ok(binary.response.kind === 'bytes');
  const bytes = Buffer.concat(binary.response.chunks);
  assert.equal(bytes.subarray(0, 4).toString('latin1'), 'k8s\0');
  const list = await send('GET', MAPS, undefined, { accept: `${protobuf},application/json` });
  assert.equal(list.headers['content-type'], protobuf);
  await send('DELETE', `${MAPS}/t`);
  const posted = await send('PUT', `${MAPS}/t`, bytes, { 'content-type': protobuf });
  assert.equal(posted.status, 404, 'config maps are not created by PUT');
});

test('bare metadata as protobuf, as metadata informers ask for it', async () => {
  const { send } = await startTestServer();
  await send('POST', MAPS, configMap('t'));
  for (const [path, as] of [
    [MAPS, 'PartialObjectMetadataList'],
    [`${MAPS}/t`, 'PartialObjectMetadata'],
  ] as const) {
    const answer = await send('GET', path, undefined, {
      accept: `application/vnd.kubernetes.protobuf;as=${as};v=v1;g=meta.k8s.io`,
    });
    assert.ok(answer.response.kind === 'bytes');
    const object = decodeProtobuf(Buffer.concat(answer.response.chunks));
    assert.equal(object['kind'], as);
  }
  const table = await send('GET', MAPS, undefined, {
    accept: 'application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json',
  });
  assert.equal(table.body.kind, 'ConfigMapList', 'tables have no protobuf form');
});
