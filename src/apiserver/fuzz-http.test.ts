/** Bytes on real sockets and credentials of every sort, from a seed: refused as upstream refuses them, and the next request is served. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { StatusError } from '../api/status-error.ts';
import type { HttpServer } from '../platform/http.ts';
import { createListenHttp } from '../platform/node/http-server.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { startWithAll } from './all-resources-fixture.ts';
import { createBearerTokenAuthenticator } from './authn/bearer-token.ts';
import { createServiceAccountTokens } from './authn/service-account-tokens.ts';
import { createTestObjects } from './authz/objects-fixture.ts';
import { createHttpHandler } from './http-adapter.ts';
import type { TestServer } from './server-fixture.ts';

const SEED = 20_260_101;
let server: TestServer;
let http: HttpServer;
before(async () => {
  server = await startWithAll();
  http = await createListenHttp(createMemoryLog())(
    { host: '127.0.0.1', port: 0 },
    createHttpHandler(server.server.handler, createSeededRandom(1)),
  );
});
after(async () => {
  await http.close(0);
  await server.server.stop();
});

/** Sends these bytes and no more; resolves to the statuses of the responses. */
function statusesOf(bytes: Buffer): Promise<number[]> {
  return new Promise((resolve) => {
    let said = '';
    const socket = connect({ host: '127.0.0.1', port: http.port }, () => socket.end(bytes));
    socket.setEncoding('latin1').on('data', (text: string) => (said += text));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve([...said.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))));
  });
}

const good = [
  'GET /version HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /api/v1/namespaces/default/pods?limit=1&watch=0 HTTP/1.1\r\nHost: a\r\nAccept: application/json;as=Table;v=v1;g=meta.k8s.io\r\nAccept-Encoding: gzip\r\n\r\n',
  'POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 26\r\n\r\n{"metadata":{"name":"a"}}\n',
  'POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n',
  'GET /api/v1/namespaces/default/pods/x/exec?command=a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\n\r\n',
].map((text) => Buffer.from(text));

const change = fc.tuple(
  fc.nat(),
  fc.nat({ max: 8 }),
  fc.oneof(
    fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom(
        '\r\n',
        '\n',
        ' ',
        '\0',
        '%',
        '%zz',
        '../',
        '?',
        'Content-Length: 5\r\n',
        'Transfer-Encoding: chunked\r\n',
      )
      .map((text) => Buffer.from(text)),
    fc
      .constantFrom('Host: b\r\n', 'Authorization: Bearer x\r\n', 'Expect: 100-continue\r\n', 'Impersonate-User: a\r\n')
      .map((text) => Buffer.from(text)),
  ),
);
const request = fc
  .tuple(fc.constantFrom(...good), fc.array(change, { minLength: 1, maxLength: 4 }))
  .map(([whole, changes]) => {
    let bytes: Buffer = whole;
    for (const [at, cut, added] of changes) {
      const place = at % bytes.length;
      bytes = Buffer.concat([bytes.subarray(0, place), added, bytes.subarray(place + cut)]);
    }
    return bytes;
  });

test('bytes that are hardly HTTP', async (t) => {
  const counts = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(request, async (bytes) => {
      const statuses = await statusesOf(bytes);
      for (const status of statuses)
        assert.ok(status < 500, `${status} for ${JSON.stringify(bytes.toString('latin1'))}`);
      const what = statuses.length === 0 ? 'closed' : String(statuses[0]);
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }),
    { seed: SEED, numRuns: 1500 },
  );
  t.diagnostic(
    [...counts]
      .toSorted()
      .map(([what, count]) => `${what}: ${count}`)
      .join(', '),
  );
  assert.deepEqual(await statusesOf(good[0]!), [401], 'who says nothing is served as before');
});

const part = fc.oneof(
  fc.base64String({ maxLength: 40 }),
  fc.json({ maxDepth: 2 }).map((text) => Buffer.from(text).toString('base64url')),
);
const credentials = fc.oneof(
  fc.tuple(part, part, part).map((parts) => `Bearer ${parts.join('.')}`),
  fc.string({ maxLength: 60 }).map((text) => `Bearer ${text}`),
  fc.string({ maxLength: 60 }),
  fc.constantFrom(
    'Bearer',
    'Bearer ',
    'bearer  x',
    'Basic ',
    'Basic Og==',
    'Bearer a,b',
    `Bearer ${'a'.repeat(20_000)}`,
    'Bearer ..',
  ),
);

test('invalid credentials', async (t) => {
  const counts = new Map<string, number>();
  const clock = new VirtualClock();
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const crypto = { sha256Hex: (text: string) => text, webcrypto: globalThis.crypto } as never;
  const own = createServiceAccountTokens(
    { platform: { clock, random: createSeededRandom(1), crypto }, objects: () => createTestObjects().store },
    { issuer: 'https://i', audiences: ['api'], keys: [{ publicKeyPem: publicKey, privateKeyPem: privateKey }] },
  );
  const bearer = createBearerTokenAuthenticator([own], { clock, log: createMemoryLog() });
  await fc.assert(
    fc.asyncProperty(credentials, async (authorization) => {
      let what = 'nobody';
      try {
        const user = await bearer.authenticate({ headers: { authorization } } as never);
        assert.equal(user, undefined);
      } catch (error) {
        if (!(error instanceof StatusError) || error.code !== 401) throw error;
        what = '401';
      }
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }),
    { seed: SEED, numRuns: 1000 },
  );
  t.diagnostic([...counts].map(([what, count]) => `${what}: ${count}`).join(', '));
});
