import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { JsonObject } from '../api/codec/own-property.ts';
import { decodeProtobuf, decodeWatchEvent, encodeProtobuf } from '../api/codec/protobuf.ts';
import { decodeTyped } from '../api/codec/typed.ts';
import { schemaOf } from '../api/schema/schema.ts';
import type { ApiResponse } from '../api/transport.ts';
import { startWithAll } from './all-resources-fixture.ts';
import type { TestAnswer, TestServer } from './server-fixture.ts';

const TYPE = 'application/vnd.kubernetes.protobuf';
const MAPS = '/api/v1/namespaces/default/configmaps';
let server: TestServer;

before(async () => {
  server = await startWithAll();
});

function bytesOf(response: ApiResponse): Buffer {
  assert.ok(response.kind === 'bytes');
  return Buffer.concat(response.chunks);
}

function encoded(group: string, kind: string, object: object): Uint8Array {
  const version = 'v1';
  const schema = schemaOf(group, version, kind);
  assert.ok(schema !== undefined, kind);
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return encodeProtobuf(schema, decodeTyped(schema, { apiVersion, kind, ...object }).object);
}

/** Sends and expects protobuf. */
async function exchange(
  method: string,
  path: string,
  body?: Uint8Array,
  accept = TYPE,
): Promise<{ answer: TestAnswer; object: JsonObject }> {
  const answer = await server.send(method, path, body, {
    accept,
    ...(body === undefined ? {} : { 'content-type': TYPE }),
  });
  assert.equal(answer.headers['content-type'], TYPE, answer.text);
  return { answer, object: decodeProtobuf(bytesOf(answer.response)) };
}

test('every verb accepts and returns protobuf', async () => {
  const created = await exchange('POST', MAPS, encoded('', 'ConfigMap', { metadata: { name: 'a' }, data: { x: '1' } }));
  assert.deepEqual(
    [created.answer.status, created.object['kind'], created.object['data']],
    [201, 'ConfigMap', { x: '1' }],
  );
  const updated = await exchange(
    'PUT',
    `${MAPS}/a`,
    encoded('', 'ConfigMap', { metadata: { name: 'a' }, data: { x: '2' } }),
  );
  assert.deepEqual(updated.object['data'], { x: '2' });
  const list = await exchange('GET', MAPS);
  assert.deepEqual(
    [list.object['kind'], (list.object['items'] as JsonObject[]).map(({ data }) => data)],
    ['ConfigMapList', [{ x: '2' }]],
  );
  const bare = await exchange('GET', `${MAPS}/a`, undefined, `${TYPE};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`);
  assert.deepEqual(
    [bare.object['kind'], (bare.object['metadata'] as JsonObject)['name']],
    ['PartialObjectMetadata', 'a'],
  );
});

test('delete options and refusals', async () => {
  await exchange('POST', MAPS, encoded('', 'ConfigMap', { metadata: { name: 'b' } }));
  const options = (object: object): Uint8Array => encoded('', 'DeleteOptions', object);
  const wrong = await exchange('DELETE', `${MAPS}/b`, options({ preconditions: { uid: 'other' } }));
  assert.deepEqual(
    [wrong.answer.status, wrong.object['kind'], wrong.object['reason'], wrong.object['code']],
    [409, 'Status', 'Conflict', 409],
  );
  const tried = await exchange('DELETE', `${MAPS}/b`, options({ dryRun: ['All'], gracePeriodSeconds: 0 }));
  assert.equal(tried.object['status'], 'Success');
  const gone = await exchange('DELETE', `${MAPS}/b`, options({ propagationPolicy: 'Background' }));
  assert.deepEqual([gone.object['kind'], (gone.object['details'] as JsonObject)['name']], ['Status', 'b']);
  const missing = await exchange('GET', `${MAPS}/b`);
  assert.deepEqual([missing.answer.status, missing.object['message']], [404, 'configmaps "b" not found']);
  const collection = await exchange('DELETE', MAPS, options({}));
  assert.equal(collection.object['kind'], 'ConfigMapList');
});

test('sub-resources and reviews', async () => {
  const spec = {
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  };
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  await exchange(
    'POST',
    deployments,
    encoded('apps', 'Deployment', { metadata: { name: 'd' }, spec: { ...spec, replicas: 0 } }),
  );
  const none = await exchange('GET', `${deployments}/d/scale`);
  assert.deepEqual([none.object['kind'], (none.object['spec'] as JsonObject)['replicas'] ?? 0], ['Scale', 0]);
  const scaled = await exchange(
    'PUT',
    `${deployments}/d/scale`,
    encoded('autoscaling', 'Scale', { metadata: { name: 'd' }, spec: { replicas: 2 } }),
  );
  assert.equal((scaled.object['spec'] as JsonObject)['replicas'], 2);
  const pods = '/api/v1/namespaces/default/pods';
  await exchange(
    'POST',
    pods,
    encoded('', 'Pod', { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }),
  );
  const bound = await exchange(
    'POST',
    `${pods}/p/binding`,
    encoded('', 'Binding', { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }),
  );
  assert.deepEqual([bound.answer.status, bound.object['status']], [201, 'Success']);
  const review = await exchange(
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    encoded('authorization.k8s.io', 'SelfSubjectAccessReview', {
      spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
    }),
  );
  assert.equal((review.object['status'] as JsonObject)['allowed'], true);
});

test('evictions of a version without its own schemas', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  await exchange('POST', pods, encoded('', 'Pod', { metadata: { name: 'evicted' }, spec }));
  const cases: [apiVersion: string, kind: string, status: number, message: RegExp][] = [
    ['policy/v1beta2', 'Eviction', 400, /no kind "Eviction" is registered for version "policy\/v1beta2" in protobuf/],
    ['policy/v1beta1', 'PodDisruptionBudget', 400, /cannot be handled as a Eviction/],
    ['policy/v1beta1', 'Eviction', 201, /^$/],
    ['policy/v1beta1', 'Eviction', 404, /"evicted" not found/],
  ];
  for (const [apiVersion, kind, status, message] of cases) {
    const body = encoded('policy', kind, { apiVersion, metadata: { name: 'evicted' } });
    const { answer, object } = await exchange('POST', `${pods}/evicted/eviction`, body);
    assert.equal(answer.status, status, `${apiVersion} ${kind}: ${String(object['message'])}`);
    assert.match(String(object['message'] ?? ''), message);
  }
});

test('a watch in protobuf: events, bookmark, error', async () => {
  await exchange('POST', MAPS, encoded('', 'ConfigMap', { metadata: { name: 'w' }, data: { x: '1' } }));
  const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const stop = new AbortController();
  const response = await server.server.handler(
    server.request('GET', `${MAPS}?${query}`, { headers: { accept: `${TYPE};stream=watch` }, signal: stop.signal }),
  );
  assert.ok(response.kind === 'stream');
  assert.equal(response.headers['content-type'], `${TYPE};stream=watch`);
  const chunks: Uint8Array[] = [];
  const running = response.run({
    write: async (chunk) => void chunks.push(Buffer.from(chunk)),
    end: async () => undefined,
  });
  stop.abort();
  await running;
  assert.deepEqual(eventsOf(Buffer.concat(chunks)), [
    ['ADDED', 'ConfigMap', 'w'],
    ['BOOKMARK', 'ConfigMap', undefined],
  ]);
});

function eventsOf(bytes: Buffer): unknown[][] {
  const events: unknown[][] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const { type: kind, object } = decodeWatchEvent(bytes.subarray(at + 4, at + 4 + length));
    events.push([kind, object['kind'], (object['metadata'] as JsonObject)['name']]);
    at += 4 + length;
  }
  return events;
}
