/**
 * Aggregated servers with arbitrary answers: the condition reports them as unavailable, or their answer is used within bounds.
 * Discovery and OpenAPI of all other servers still work.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpCall, Net } from '../../platform/net.ts';
import type { TestServer } from '../server-fixture.ts';
import { startNotedServer } from '../authorized-object-fixture.ts';

const GROUP = 'fruit.example.com';
const PLAIN = '{"kind":"APIResourceList","groupVersion":"fruit.example.com/v1","resources":[]}';
const resource = (name: unknown): string =>
  `{"resources":[{"name":${JSON.stringify(name)},"kind":"Apple","verbs":["list"]}]}`;
const grouped = (resources: string): string =>
  `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"${GROUP}"},"versions":[{"version":"v1","resources":${resources}}]}]}`;

type Answers = Readonly<Record<string, string | (() => AsyncIterable<Uint8Array>)>>;

async function* endless(): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(1024 * 1024, '[],');
  for (;;) yield chunk;
}

/** Starts a server whose aggregated API returns these answers, by path. */
async function startWith(answers: Answers): Promise<TestServer> {
  const bodyOf = (url: string): string | (() => AsyncIterable<Uint8Array>) | undefined =>
    answers[new URL(url).pathname];
  const net = {
    http: async ({ url }: HttpCall) => {
      const found = bodyOf(url);
      const text = async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.from(typeof found === 'string' ? found : '');
      };
      const body = typeof found === 'function' ? found() : text();
      return { status: found === undefined ? 404 : 200, headers: {}, body, cancel: () => undefined };
    },
  } as unknown as Net;
  const server = await startNotedServer({
    aggregation: { net, identity: () => ({}), builtIns: [], rejectsRedirects: true },
  });
  await server.send('POST', '/api/v1/namespaces/a/services', {
    metadata: { name: 'fruit' },
    spec: { type: 'ExternalName', externalName: 'fruit' },
  });
  await server.send('POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
    metadata: { name: `v1.${GROUP}` },
    spec: {
      group: GROUP,
      version: 'v1',
      service: { namespace: 'a', name: 'fruit' },
      groupPriorityMinimum: 1,
      versionPriority: 1,
    },
  });
  await server.platform.clock.settle();
  return server;
}

interface Condition {
  readonly status: string;
  readonly reason: string;
}

async function conditionOf({ send }: TestServer): Promise<Condition> {
  const { body } = await send('GET', `/apis/apiregistration.k8s.io/v1/apiservices/v1.${GROUP}`);
  return (body as unknown as { status: { conditions: Condition[] } }).status.conditions[0]!;
}

async function checkOthers({ send }: TestServer): Promise<void> {
  const discovery = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
  for (const headers of [discovery, {}]) assert.equal((await send('GET', '/apis', undefined, headers)).status, 200);
  const { status, body } = await send('GET', '/openapi/v2');
  assert.equal(status, 200);
  assert.ok((body as unknown as { paths: object }).paths);
  const accept = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
  assert.equal((await send('GET', '/openapi/v2', undefined, { accept })).status, 200);
  assert.equal((await send('GET', '/openapi/v3')).status, 200);
}

const PATH = `/apis/${GROUP}/v1`;
const many = (item: (i: number) => string, count: number): string =>
  Array.from({ length: count }, (_, i) => item(i)).join(',');

const refused: Readonly<Record<string, Answers>> = {
  'without end': { [PATH]: endless },
  'with no JSON': { [PATH]: '<html>' },
  'with null': { [PATH]: 'null' },
  'with a list': { [PATH]: '[]' },
  'with resources of text': { [PATH]: '{"resources":"apples"}' },
  'with a name that is a number': { [PATH]: resource(5) },
  'with a million items': { [PATH]: `{"resources":[${many(() => '[]', 1_000_000)}]}` },
  'with a thousand and one resources': {
    [PATH]: `{"resources":[${many((i) => `{"name":"r${i}","kind":"A","verbs":["list"]}`, 1001)}]}`,
  },
  'with a thousand and one resources in groups': {
    [PATH]: PLAIN,
    '/apis': grouped(`[${many((i) => `{"resource":"r${i}","verbs":["list"]}`, 1001)}]`),
  },
  'with depth': { [PATH]: '{"resources":'.repeat(200_000) },
};

const bounded: Readonly<Record<string, Answers>> = {
  'with an endless list of groups': { [PATH]: PLAIN, '/apis': endless },
  'with resources of numbers': { [PATH]: PLAIN, '/apis': grouped('[1,2,3]') },
  'with a resource that is null': { [PATH]: PLAIN, '/apis': grouped('[null]') },
  'with verbs of text': { [PATH]: PLAIN, '/apis': grouped('[{"resource":"apples","verbs":"list"}]') },
  'with thousands of subresources of one resource': {
    [PATH]: `{"resources":[${many((i) => `{"name":"apples/s${i}","kind":"A","verbs":[]}`, 15_000)}]}`,
  },
  'with endless OpenAPI': { [PATH]: PLAIN, '/openapi/v2': endless, [`/openapi/v3${PATH}`]: endless },
  'with OpenAPI of null': { [PATH]: PLAIN, '/openapi/v2': 'null', [`/openapi/v3${PATH}`]: 'null' },
  'with too many paths': {
    [PATH]: PLAIN,
    '/openapi/v2': `{"swagger":"2.0","paths":{${many((i) => `"${PATH}/p${i}":{}`, 30_000)}}}`,
  },
  'with OpenAPI of wrong types': {
    [PATH]: PLAIN,
    '/openapi/v2': JSON.stringify({
      swagger: '2.0',
      paths: {
        [PATH]: null,
        [`${PATH}/a`]: { get: { parameters: [null, 1], tags: [{ toString: 1 }], responses: { 200: { schema: 5 } } } },
        [`${PATH}/b`]: { get: { responses: { 200: { schema: { $ref: '#/definitions/__proto__' } } } }, parameters: 7 },
      },
      definitions: { __proto__: 5, A: { properties: { a: null }, required: [null], enum: [undefined] } },
    }),
  },
};

for (const [name, answers] of Object.entries(refused))
  test(`a server that answers ${name} is not available`, async () => {
    const server = await startWith(answers);
    assert.deepEqual((({ status, reason }) => [status, reason])(await conditionOf(server)), [
      'False',
      'FailedDiscoveryCheck',
    ]);
    await checkOthers(server);
  });

for (const [name, answers] of Object.entries(bounded))
  test(`the answer of a server that answers ${name} is bounded`, async () => {
    const server = await startWith(answers);
    assert.equal((await conditionOf(server)).status, 'True');
    await checkOthers(server);
  });

test('a large document of another server is served, as is its own v3 document', async () => {
  const definitions = many((i) => `"d${i}":{"type":"object","properties":{"p":{"type":"string"}}}`, 15_000);
  const item = `{"get":{"responses":{"200":{"schema":{"$ref":"#/definitions/d7"}}}}}`;
  const v3 = `{"openapi":"3.0.0","paths":{"${PATH}/apples":{}},  "x":1}`;
  const server = await startWith({
    [PATH]: PLAIN,
    '/openapi/v2': `{"swagger":"2.0","paths":{"${PATH}/apples":${item}},"definitions":{${definitions}}}`,
    [`/openapi/v3${PATH}`]: v3,
  });
  const { body } = await server.send('GET', '/openapi/v2');
  const document = body as unknown as { paths: object; definitions: object };
  assert.ok(Object.hasOwn(document.paths, `${PATH}/apples`));
  assert.ok(Object.hasOwn(document.definitions, 'd7') && !Object.hasOwn(document.definitions, 'd8'));
  const { text } = await server.send('GET', `/openapi/v3${PATH}`);
  assert.equal(text, v3);
});
