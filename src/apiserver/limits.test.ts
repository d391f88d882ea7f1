import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { ConfigMaps } from '../api/gen/resources.ts';
import type { ApiRequest } from '../api/transport.ts';
import { BodyTooLargeError, type HttpRequest, type HttpResponse } from '../platform/http.ts';
import { createNodeCompression } from '../platform/node/compression.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { createHttpHandler } from './http-adapter.ts';
import type { ResourceDefinition } from './registry/resource-definition.ts';
import { startTestServer, testDefinitions } from './server-fixture.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

test('a request that takes too long gets 504, after its own timeout or a minute', async (t) => {
  const stuck = {
    info: ConfigMaps,
    enabledByDefault: true,
    storagePrefix: '',
    strategy: { validate: () => [], validateUpdate: () => [] },
    virtual: { get: () => new Promise(() => undefined) },
  };
  const { send, platform } = await startTestServer({ definitions: [stuck as unknown as ResourceDefinition] });
  for (const [query, ms] of [
    ['', 60_000],
    ['?timeout=5s', 5000],
    ['?timeout=10m', 60_000],
    ['?timeout=0', 60_000],
  ] as const) {
    await t.test(query, async () => {
      const startMs = platform.clock.monotonicMs();
      const answer = send('GET', `${PATH}/x${query}`);
      await platform.clock.advance(ms);
      const { status, body } = await answer;
      assert.deepEqual([status, body.reason, platform.clock.monotonicMs() - startMs], [504, 'Timeout', ms]);
    });
  }
  const patient = await startTestServer(
    { definitions: [stuck as unknown as ResourceDefinition] },
    { requestTimeoutMs: 300_000 },
  );
  const late = patient.send('GET', `${PATH}/x?timeout=10m`);
  await patient.platform.clock.advance(300_000);
  assert.equal((await late).status, 504);
  const bad = await send('GET', `${PATH}/x?timeout=soon`);
  assert.deepEqual(
    [bad.status, bad.body.message],
    [400, 'invalid timeout specified in the request URL - time: invalid duration "soon"'],
  );
});

test('bodies beyond the limit are refused with 413', async () => {
  const { send, server, request } = await startTestServer({ definitions: testDefinitions() });
  const object = await send('POST', PATH, { metadata: { name: 'big' }, data: { a: 'x'.repeat(1.5 * 1024 * 1024) } });
  assert.deepEqual(
    [object.status, object.body.reason, object.body.message],
    [413, 'RequestEntityTooLarge', 'etcdserver: request is too large'],
  );
  const body: ApiRequest['body'] = {
    kind: 'bytes',
    read: (limit) => Promise.reject(new BodyTooLargeError(limit)),
    stream: async function* () {},
  };
  const response = await server.handler(request('POST', PATH, { body }));
  assert.equal(response.kind === 'bytes' && response.status, 413);
});

test('lists at once share their bytes until something changes', async () => {
  const anyone = { authenticate: () => ({ name: 'a', groups: ['system:masters'] }) };
  const { server, send } = await startTestServer({ authenticators: [anyone] });
  for (let index = 0; index < 40; index++)
    await send('POST', PATH, { metadata: { name: `m${index}` }, data: { a: 'x'.repeat(10_000) } });
  const list = async (): Promise<readonly Uint8Array[]> => {
    const response = await createHttpHandler(server.handler, createSeededRandom(1))(get({}, ''));
    assert.ok(response.kind === 'bytes');
    return response.chunks;
  };
  const [[, ...one], [, ...two]] = await Promise.all([list(), list()]);
  assert.ok(one.length > 1);
  assert.ok(one.every((chunk, index) => chunk === two[index]));
  await send('DELETE', `${PATH}/m3`);
  const names = (chunks: readonly Uint8Array[]): string[] => {
    const { items } = JSON.parse(Buffer.concat(chunks).toString()) as { items: { metadata: { name: string } }[] };
    return items.map(({ metadata }) => metadata.name);
  };
  const after = names(await list());
  assert.deepEqual([after.length, after.includes('m3')], [39, false]);
});

function get(accept: Record<string, string>, query: string): HttpRequest {
  const signal = new AbortController().signal;
  return {
    method: 'GET',
    path: PATH,
    query,
    headers: accept,
    headerLines: () => [],
    remoteAddress: '127.0.0.1',
    signal,
    wantsUpgrade: false,
    readBody: () => Promise.resolve(new Uint8Array()),
    bodyStream: async function* () {},
  };
}

test('large responses are compressed for clients that accept it', async (t) => {
  const anyone = { authenticate: () => ({ name: 'a', groups: ['system:masters'] }) };
  const { server, send, platform } = await startTestServer({ authenticators: [anyone] });
  for (let index = 0; index < 20; index++)
    await send('POST', PATH, { metadata: { name: `m${index}` }, data: { a: 'x'.repeat(10_000) } });
  const handler = createHttpHandler(server.handler, createSeededRandom(1), {
    compression: createNodeCompression(),
    clock: platform.clock,
  });
  const cases: readonly (readonly [string, Record<string, string>, string, boolean])[] = [
    ['taken', { 'accept-encoding': 'gzip' }, '', true],
    ['among others', { 'accept-encoding': 'br;q=1.0, gzip;q=0.5' }, '', true],
    ['refused', { 'accept-encoding': 'gzip;q=0' }, '', false],
    ['not asked for', {}, '', false],
    ['small', { 'accept-encoding': 'gzip' }, 'limit=2', false],
  ];
  const plain = await bytesOf(handler(get({}, '')));
  for (const [what, headers, query, packed] of cases) {
    await t.test(what, async () => {
      const response = await handler(get(headers, query));
      assert.ok(response.kind === 'bytes');
      assert.equal(response.headers['content-encoding'], packed ? 'gzip' : undefined);
      if (packed) assert.deepEqual(gunzipSync(Buffer.concat(response.chunks)), plain);
    });
  }
});

async function bytesOf(answer: HttpResponse | Promise<HttpResponse>): Promise<Buffer> {
  const response = await answer;
  assert.ok(response.kind === 'bytes');
  return Buffer.concat(response.chunks);
}
