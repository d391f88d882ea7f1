/**
 * The end of response bodies. Go's encoder ends each object with a newline; indented JSON has none, and browsers, curl and Wget
 * get it by default. Upstream: serializer/json doEncode, negotiation.isPrettyPrint, responsewriters.WriteRawJSON.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from './all-resources-fixture.ts';
import type { TestAnswer, TestServer } from './server-fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const ROLES = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles';

interface Row {
  readonly request: string;
  readonly body?: object;
  readonly accept?: string;
  readonly contentType?: string;
  readonly status?: number;
}

const map = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { text: 'x'.repeat(300) },
});
const patch = { data: { more: 'yes' } };
const MERGE_PATCH = 'application/merge-patch+json';

/** Requests whose responses are objects; each needs the effects of those before it. */
const OBJECTS: readonly Row[] = [
  { request: `POST ${MAPS}?dryRun=All`, body: map('a'), status: 201 },
  { request: `GET ${MAPS}` },
  { request: `POST ${MAPS}`, body: map('a'), status: 201 },
  { request: `POST ${MAPS}`, body: map('a'), status: 409 },
  { request: `GET ${MAPS}/a` },
  { request: `PUT ${MAPS}/a`, body: map('a') },
  { request: `PATCH ${MAPS}/a`, body: patch, contentType: MERGE_PATCH },
  { request: `PATCH ${MAPS}/a?dryRun=All`, body: { data: null }, contentType: MERGE_PATCH },
  { request: `GET ${MAPS}` },
  { request: `GET ${MAPS}?limit=1` },
  { request: `GET ${MAPS}/a`, accept: TABLE },
  { request: `GET ${MAPS}`, accept: TABLE },
  { request: `GET ${MAPS}/a`, accept: METADATA },
  { request: `GET ${MAPS}`, accept: METADATA_LIST },
  { request: `GET ${MAPS}/none`, status: 404 },
  { request: `GET ${MAPS}/none`, accept: `${TABLE},application/json`, status: 404 },
  { request: `GET ${MAPS}/a`, accept: '*/*' },
  { request: `POST ${ROLES}`, body: { metadata: { name: 'empty' } }, status: 201 },
  { request: `GET ${ROLES}/empty` },
  { request: `GET ${ROLES}` },
  { request: 'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews', body: { spec: {} }, status: 422 },
  { request: 'GET /api' },
  { request: 'GET /api/v1' },
  { request: 'GET /apis' },
  { request: 'GET /apis/apps' },
  { request: 'GET /apis/apps/v1' },
  { request: 'GET /api', accept: AGGREGATED },
  { request: 'GET /apis', accept: AGGREGATED },
  { request: `DELETE ${MAPS}/a` },
  { request: `DELETE ${MAPS}` },
];

/** Query and agent of a client, and whether it gets indented JSON. */
const CLIENTS: readonly { query?: string; agent?: string; ending?: string; isPretty: boolean }[] = [
  { isPretty: false },
  { query: 'pretty=false', agent: 'curl/8.5', isPretty: false },
  { query: 'pretty=sometimes', agent: 'curl/8.5', isPretty: false },
  { query: 'pretty=true', isPretty: true },
  { query: 'pretty=', agent: 'curl/8.5', isPretty: true },
  { agent: 'curl/8.5', isPretty: true },
  { agent: 'Wget/1.21', isPretty: true },
  { agent: 'Mozilla/5.0 (X11)', isPretty: true },
  { agent: 'kubectl/v1.36.0 curl', isPretty: false },
  { ending: ';pretty=1', isPretty: true },
  { ending: ';pretty=true', isPretty: false },
];

async function ask(server: TestServer, row: Row, client: (typeof CLIENTS)[number]): Promise<TestAnswer> {
  const [method = '', path = ''] = row.request.split(' ');
  const { query, agent, ending } = client;
  const types = (row.accept ?? 'application/json').split(',');
  const accept = ending === undefined ? row.accept : types.map((type) => type + ending).join(',');
  return server.send(
    method,
    query === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
    row.body,
    {
      ...(accept !== undefined && { accept }),
      ...(agent !== undefined && { 'user-agent': agent }),
      'content-type': row.contentType ?? 'application/json',
    },
  );
}

/** The body as the server's serializer writes its object. */
function written({ body }: TestAnswer, isPretty: boolean): string {
  return isPretty ? JSON.stringify(body, undefined, 2) : `${JSON.stringify(body)}\n`;
}

for (const client of CLIENTS) {
  test(`answers to ${JSON.stringify(client)} are ${client.isPretty ? 'indented' : 'lines'}`, async () => {
    const server = await startWithAll();
    for (const row of OBJECTS) {
      const answer = await ask(server, row, client);
      assert.equal(answer.status, row.status ?? 200, `${row.request}: ${answer.text}`);
      assert.equal(answer.text, written(answer, client.isPretty), row.request);
    }
  });
}

test('JSON that is no object of the API is always indented', async () => {
  const server = await startWithAll();
  for (const client of CLIENTS)
    for (const request of ['GET /version', 'GET /']) {
      const answer = await ask(server, { request }, client);
      assert.equal(answer.text, JSON.stringify(answer.body, undefined, 2), request);
    }
});

test('OpenAPI documents are one line without an end', async () => {
  const server = await startWithAll();
  for (const client of CLIENTS.filter(({ ending }) => ending === undefined))
    for (const request of ['GET /openapi/v2', 'GET /openapi/v3', 'GET /openapi/v3/apis/apps/v1']) {
      const answer = await ask(server, { request }, client);
      assert.equal(answer.text.includes('\n'), false, request);
    }
});

test('the events of a watch are lines, also for clients of indented JSON', async () => {
  const { send, server, request } = await startWithAll();
  await send('POST', MAPS, map('a'));
  for (const accept of ['application/json', 'application/json;pretty=1', TABLE, METADATA]) {
    const stop = new AbortController();
    const headers = { accept, 'user-agent': 'curl/8.5' };
    const options = { signal: stop.signal, headers };
    const response = await server.handler(request('GET', `${MAPS}?watch=1&pretty=true`, options));
    assert.ok(response.kind === 'stream', accept);
    let text = '';
    await response.run({
      write: async (chunk) => {
        text += Buffer.from(chunk).toString('utf8');
        stop.abort();
      },
      end: async () => undefined,
    });
    assert.match(text, /^\{"type":"ADDED","object":\{.*\}\}\n$/, accept);
    JSON.parse(text);
  }
});

test('a failure is written in protobuf where that is the first supported format of the client', async () => {
  const { send } = await startWithAll();
  const packed = await send('GET', `${MAPS}/none`, undefined, {
    accept: 'application/xml, application/vnd.kubernetes.protobuf',
  });
  assert.equal(packed.headers['content-type'], 'application/vnd.kubernetes.protobuf');
  assert.ok(packed.text.startsWith('k8s\0'));
});

test('a failure is written in indented JSON where the client accepts no supported format; discovery is refused', async () => {
  const { send } = await startWithAll();
  for (const accept of ['application/xml', 'application/json;as=Table;g=meta.k8s.io;v=v1']) {
    const failure = await send('GET', `${MAPS}/none`, undefined, { accept });
    assert.equal(failure.text, JSON.stringify(failure.body, undefined, 2), accept);
  }
  const refused = await send('GET', '/apis/apps', undefined, { accept: 'application/xml' });
  assert.equal(refused.status, 406);
  assert.equal(refused.body.reason, 'NotAcceptable');
});
