import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../platform/clock.ts';
import type { HttpRequest } from '../platform/http.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { createHttpHandler } from './http-adapter.ts';
import { startTestServer } from './server-fixture.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

function request(method: string, at: string, [type, body]: readonly [string, string]): HttpRequest {
  return {
    method,
    path: at,
    query: type.includes('apply') ? 'fieldManager=a' : '',
    headers: { 'content-type': type },
    headerLines: () => [],
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
    wantsUpgrade: false,
    readBody: () => Promise.resolve(Buffer.from(body)),
    bodyStream: async function* () {},
  };
}

function body(name: string, length: number): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: 'x'.repeat(length) } });
}

/** The pauses of each write that one client makes. */
async function startCounting(): Promise<(one: HttpRequest) => Promise<number>> {
  const anyone = { authenticate: () => ({ name: 'a', groups: ['system:masters'] }) };
  const { server, platform } = await startTestServer({ authenticators: [anyone] });
  let pauses = 0;
  const counting = { yield: () => Promise.resolve(void pauses++) } as unknown as Clock;
  const handler = createHttpHandler(server.handler, createSeededRandom(1), { clock: counting });
  return async (one) => {
    pauses = 0;
    const answer = await platform.clock.drive(Promise.resolve(handler(one)));
    assert.ok(answer.kind === 'bytes');
    assert.ok(answer.status < 300, Buffer.concat(answer.chunks).toString('utf8').slice(0, 300));
    return pauses;
  };
}

test('the work on a large body has steps, between which others have their turn; that on a small one has none', async () => {
  const pausesOf = await startCounting();
  const writes = (length: number): HttpRequest[] => [
    request('POST', PATH, ['application/json', body(`j${length}`, length)]),
    request('PUT', `${PATH}/j${length}`, ['application/json', body(`j${length}`, length + 1)]),
    request('PATCH', `${PATH}/j${length}`, ['application/merge-patch+json', body(`j${length}`, length + 2)]),
    request('PATCH', `${PATH}/a${length}`, ['application/apply-patch+yaml', body(`a${length}`, length)]),
  ];
  for (const write of writes(100_000)) assert.ok((await pausesOf(write)) >= 6, write.path);
  for (const write of writes(1000)) assert.equal(await pausesOf(write), 0, write.path);
});

test('the work on a large object of a component in this process has steps; that on a small one has none', async () => {
  const { server, request: requestOf, platform } = await startTestServer();
  const pausesOf = async (method: string, data: Record<string, string>): Promise<number> => {
    let pauses = 0;
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' }, data };
    const at = method === 'POST' ? PATH : `${PATH}/o`;
    const pause = (): Promise<void> => Promise.resolve(void pauses++);
    const parts = { wantsObjects: true, body: { kind: 'object', object }, pause } as const;
    const answer = await platform.clock.drive(Promise.resolve(server.handler(requestOf(method, at, parts))));
    assert.ok(answer.kind === 'object' && answer.status < 300);
    return pauses;
  };
  const many = (value: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: 8000 }, (_, at) => [`k${at}`, value]));
  assert.equal(await pausesOf('POST', { a: 'b' }), 0);
  assert.equal(await pausesOf('PUT', { a: 'c' }), 0);
  assert.ok((await pausesOf('PUT', many(''))) >= 8);
  await platform.clock.drive(server.handler(requestOf('DELETE', `${PATH}/o`)) as Promise<unknown>);
  assert.ok((await pausesOf('POST', many('x'))) >= 8);
});

const APPLY_TYPE = 'application/apply-patch+yaml';
const keysOf = (name: string, prefix: string): string => {
  const data = Object.fromEntries(Array.from({ length: 8000 }, (_, i) => [`${prefix}${i}`, '']));
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
};

test('each pass of an apply over a large object is a step', async () => {
  const pausesOf = await startCounting();
  const apply = (prefix: string): HttpRequest => request('PATCH', `${PATH}/b`, [APPLY_TYPE, keysOf('b', prefix)]);
  assert.ok((await pausesOf(apply('a'))) >= 15);
  // Every field is removed, and this manager alone owns all of them: the case with the most passes.
  assert.ok((await pausesOf(apply('b'))) >= 25);
});

test('the work of a small patch on a large object has steps', async () => {
  const pausesOf = await startCounting();
  await pausesOf(request('POST', PATH, ['application/json', keysOf('c', 'a')]));
  const small = '{"data":{"a1":"1"}}';
  for (const type of ['application/merge-patch+json', 'application/strategic-merge-patch+json'])
    assert.ok((await pausesOf(request('PATCH', `${PATH}/c`, [type, small]))) >= 8, type);
  const applied = '{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"1"}}';
  assert.ok((await pausesOf(request('PATCH', `${PATH}/c`, [APPLY_TYPE, applied]))) >= 15);
});

test('many small patches make no object of more parts than one body may have', async () => {
  const anyone = { authenticate: () => ({ name: 'a', groups: ['system:masters'] }) };
  const { server, platform } = await startTestServer({ authenticators: [anyone] });
  const handler = createHttpHandler(server.handler, createSeededRandom(1), { clock: platform.clock });
  const send = async (one: HttpRequest): Promise<number> => {
    const answer = await platform.clock.drive(Promise.resolve(handler(one)));
    assert.ok(answer.kind === 'bytes');
    return answer.status;
  };
  assert.equal(await send(request('POST', PATH, ['application/json', keysOf('d', 'a')])), 201);
  const add = (prefix: string): Promise<number> =>
    send(request('PATCH', `${PATH}/d`, ['application/merge-patch+json', keysOf('d', prefix)]));
  assert.equal(await add('b'), 200);
  assert.equal(await add('c'), 200);
  assert.equal(await add('d'), 413);
});
