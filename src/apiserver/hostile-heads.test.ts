/**
 * Texts of clients that the server puts into response headers, over real connections: each request is answered, and the server
 * continues.
 */
import assert from 'node:assert/strict';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { after, before, test } from 'node:test';
import type { ApiHandler } from '../api/transport.ts';
import type { HttpServer } from '../platform/http.ts';
import { createTestAuthority } from '../platform/node/certificates-fixture.ts';
import { createListenHttp } from '../platform/node/http-server.ts';
import { createNodeNet } from '../platform/node/net.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { startWithAll } from './all-resources-fixture.ts';
import { createHttpHandler } from './http-adapter.ts';
import type { TestServer } from './server-fixture.ts';

const log = createMemoryLog();
const net = createNodeNet();
let server: TestServer;
let http: HttpServer;
let caPem: string;
let session: ClientHttp2Session;
before(async () => {
  const authority = await createTestAuthority('test CA');
  const tls = await authority.issue('CN=server', ['127.0.0.1']);
  ({ caPem } = authority);
  server = await startWithAll();
  const principal = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
  const asAdmin: ApiHandler = (request) => server.server.handler({ ...request, principal });
  const handler = createHttpHandler(asAdmin, createSeededRandom(1));
  http = await createListenHttp(log)({ host: '127.0.0.1', port: 0, tls }, handler);
  session = connectHttp2(`https://127.0.0.1:${http.port}`, { ca: caPem });
});
after(async () => {
  session.destroy();
  net.close();
  await http.close(0);
  await server.server.stop();
});

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

async function overHttp1({ method, path, body, headers = {} }: Asked): Promise<number> {
  const answer = await net.http({
    method,
    url: `https://127.0.0.1:${http.port}${path}`,
    headers: { 'content-type': 'application/json', ...headers },
    tls: { caPem },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  answer.cancel();
  return answer.status;
}

function overHttp2({ method, path, body, headers = {} }: Asked): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': method,
      ':path': path,
      'content-type': 'application/json',
      ...headers,
    });
    stream.on('response', ({ ':status': status }) => resolve(status!)).on('error', reject);
    stream.on('close', () => reject(new Error('no answer'))).resume();
    stream.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const hostile = [
  '\u0000',
  'a\r\nSet-Cookie: b',
  '\u007f',
  '\u0085',
  '日本',
  '\u{1f600}',
  '\ud800',
  '"\\',
  'ĊĀ',
  'x'.repeat(9000),
];

function requestsWith(text: string): Asked[] {
  const query = encodeURIComponent(text.toWellFormed());
  const at = '/api/v1/namespaces/default/configmaps';
  const bytes = Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[^\u0020-\u007e\u0080-\u00ff]/g, '')
    .slice(0, 500);
  return [
    { method: 'POST', path: at, body: { metadata: { generateName: 'a-' }, [text]: 1 } },
    { method: 'POST', path: at, body: { metadata: { generateName: 'a-', [text]: 1, annotations: { [text]: text } } } },
    { method: 'POST', path: at, body: { metadata: { name: text, labels: { [text]: text } } } },
    {
      method: 'POST',
      path: `${at}?fieldManager=${query}&fieldValidation=${query}`,
      body: { metadata: { generateName: 'a-' } },
    },
    { method: 'GET', path: `${at}?labelSelector=${query}&fieldSelector=${query}&continue=${query}&limit=1` },
    { method: 'GET', path: `${at}/${query}` },
    { method: 'GET', path: `/api/v1/namespaces/${query}/services/${query}/proxy` },
    { method: 'GET', path: `/${query}`, headers: { 'audit-id': bytes, 'user-agent': bytes, accept: bytes } },
    { method: 'GET', path: at, headers: { 'impersonate-user': bytes, 'impersonate-group': bytes } },
  ];
}

for (const [protocol, ask] of Object.entries({ 'HTTP/1.1': overHttp1, 'HTTP/2': overHttp2 }))
  test(`over ${protocol} no text of a client breaks a response`, async () => {
    for (const text of hostile)
      for (const asked of requestsWith(text)) {
        const status = await ask(asked);
        const what = `${asked.method} ${asked.path.slice(0, 80)} ${JSON.stringify(text.slice(0, 20))}`;
        assert.ok((status >= 200 && status < 500) || status === 503, `${what}: ${status}`);
      }
    assert.equal(await ask({ method: 'GET', path: '/version' }), 200);
    assert.deepEqual(log.entries, []);
  });
