/**
 * Webhooks with arbitrary responses, over real connections: none is taken for consent, the caller gets an error within the
 * timeout, reads are bounded, and the next call is made.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createNodeCrypto } from '../../platform/node/crypto.ts';
import { createNodeNet } from '../../platform/node/net.ts';
import { settleWhileTimePasses } from '../../platform/node/settle-fixture.ts';
import type { Net } from '../../platform/net.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createImagePolicyWebhook } from '../admission/image-policy-webhook/image-policy-webhook.ts';
import { createWebhookSink } from '../audit/webhook-sink.ts';
import { createWebhookTokenAuthenticator } from '../authn/webhook-token.ts';
import { createWebhookAuthorizer } from '../authz/webhook-authorizer.ts';
import { createWebhookClient } from './webhook-client.ts';

const MIB = 1024 * 1024;

const answer = (body: string | Buffer, head = ''): string | Buffer =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${head}\r\n`),
    Buffer.from(body),
  ]);

/** The complete output of a hostile server; `for ever` continues until the client disconnects. */
const behaviours: Readonly<Record<string, (socket: Socket) => unknown>> = {
  'says nothing': () => undefined,
  'is not HTTP': (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
  'closes at once': (socket) => socket.destroy(),
  'breaks its head off': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'),
  'sends heads for ever': (socket) => forEver(socket, 'HTTP/1.1 200 OK\r\n', `x-${'a'.repeat(1000)}: b\r\n`),
  'continues for ever': (socket) => forEver(socket, '', 'HTTP/1.1 102 Processing\r\n\r\n'),
  'switches protocols': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n{}'),
  'stalls after its head': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n'),
  'breaks its body off': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"status"'),
  'sends its body for ever': (socket) =>
    forEver(socket, 'HTTP/1.1 200 OK\r\n\r\n{"status":{"reason":"', 'a'.repeat(64 * 1024)),
  'sends chunks for ever': (socket) =>
    forEver(socket, 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', `10000\r\n${' '.repeat(65_536)}\r\n`),
  redirects: (socket) => socket.end('HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n'),
  'answers 500 with much text': (socket) =>
    socket.end(`HTTP/1.1 500 Oops\r\ncontent-length: ${8 * MIB}\r\n\r\n${'x'.repeat(8 * MIB)}`),
  'answers nothing': (socket) => socket.end(answer('')),
  'answers no JSON': (socket) => socket.end(answer('<html></html>')),
  'answers no UTF-8': (socket) => socket.end(answer(Buffer.from([0xff, 0xfe, 0x00, 0x7b]))),
  'answers a list': (socket) => socket.end(answer('[]')),
  'answers null': (socket) => socket.end(answer('null')),
  'answers deep JSON': (socket) => socket.end(answer('{"status":'.repeat(1_000_000))),
  'answers millions of lists': (socket) => socket.end(answer(`{"status":[${'[],'.repeat(2 * MIB)}[]]}`)),
  'answers half a million keys': (socket) => {
    const keys = Array.from({ length: MIB / 2 }, (_, i) => `"k${i}":{}`).join(',');
    socket.end(answer(`{"status":{"allowed":true,"authenticated":true,${keys}}}`));
  },
  'answers a wide map': (socket) => {
    const entries = Array.from({ length: 40_000 }, (_, i) => `"k${i}":["v"]`).join(',');
    const status = `{"allowed":true,"authenticated":true,"auditAnnotations":{${entries}},"user":{"extra":{${entries}}}}`;
    socket.end(answer(`{"status":${status}}`));
  },
  'answers more than is read': (socket) => socket.end(answer(`{"status":{"reason":"${'a'.repeat(9 * MIB)}"}}`)),
  'answers with gzip': (socket) => socket.end(answer(Buffer.from('1f8b08000000', 'hex'), 'content-encoding: gzip\r\n')),
  'answers __proto__': (socket) => socket.end(answer('{"__proto__":{"status":{"allowed":true,"authenticated":true}}}')),
  'answers another kind': (socket) =>
    socket.end(
      answer('{"kind":"Pod","apiVersion":"v1","status":{"allowed":true,"authenticated":true,"user":{"username":"a"}}}'),
    ),
  'answers a status of text': (socket) => socket.end(answer('{"status":"allowed"}')),
  'answers a status of a list': (socket) => socket.end(answer('{"status":[{"allowed":true}]}')),
  'answers yes as text': (socket) =>
    socket.end(answer('{"status":{"allowed":"true","authenticated":"true","user":{"username":"a"}}}')),
  'answers a reason of a number': (socket) =>
    socket.end(answer('{"status":{"allowed":true,"reason":5,"authenticated":true,"user":{"username":5}}}')),
  'answers yes and no': (socket) =>
    socket.end(
      answer('{"status":{"allowed":true,"denied":true,"authenticated":true,"audiences":7,"auditAnnotations":5}}'),
    ),
};

/** Writes as fast as the client reads, until it leaves. */
function forEver(socket: Socket, head: string, piece: string): void {
  socket.write(head);
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

/** Behaviours that count as success for a webhook that only receives, as upstream. */
const FINE_FOR_LISTENERS = /^(answers (?!500)|sends (its body|chunks) for ever)/;

let server: Server;
let url: string;
const net = createNodeNet();
let behave: (socket: Socket) => unknown = () => undefined;
const sockets = new Set<Socket>();
let written = 0;

before(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket
      .on('error', () => undefined)
      .on('close', () => {
        written += socket.bytesWritten;
        sockets.delete(socket);
      });
    socket.once('data', () => behave(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
after(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
  net.close();
});

/** Calls each kind of webhook. Resolves to whether it consented; rejects when there is no answer. */
const kinds: Readonly<Record<string, (platform: SimPlatform, through: Pick<Net, 'http'>) => Promise<boolean>>> = {
  async authorizer(platform, through) {
    const { decision } = await createWebhookAuthorizer(deps(platform, through), {
      allowedMs: 0,
      deniedMs: 0,
    }).authorize({
      user: { name: 'ann', groups: [] },
      verb: 'get',
      path: '/x',
      isResourceRequest: false,
    } as never);
    return decision === 'allow';
  },
  async token(platform, through) {
    const more = { crypto: createNodeCrypto(), audiences: ['api'] };
    const tokens = createWebhookTokenAuthenticator(
      { ...deps(platform, through), ...more },
      { cacheMs: 1, version: 'v1' },
    );
    return (await tokens.authenticateToken('secret')) !== undefined;
  },
  async 'image policy'(platform, through) {
    const { client, target } = deps(platform, through);
    const config = { target, allowTtlMs: 0, denyTtlMs: 0, retryBackoffMs: 10, defaultAllow: false };
    const plugin = createImagePolicyWebhook({ client, clock: platform.clock }, config);
    const attributes = {
      operation: 'CREATE',
      resource: { group: '', version: 'v1', resource: 'pods' },
      subresource: '',
      namespace: 'ns',
      name: 'p',
      object: { metadata: { name: 'p' }, spec: { containers: [{ image: 'i' }] } },
      context: { signal: new AbortController().signal, addAuditAnnotation: () => undefined },
    };
    await plugin.validate!(attributes as never);
    return true;
  },
  async audit(platform, through) {
    await createWebhookSink(deps(platform, through), 10).send([Buffer.from('{"auditID":"1"}')]);
    return true;
  },
};

const fault = (): never => {
  throw new TypeError('broken');
};
const faults: Readonly<Record<string, Net['http']>> = {
  'before the call': fault,
  'in the call': () => Promise.reject(new TypeError('broken')),
  'in the answer': async () => ({
    status: 200,
    headers: {},
    cancel: () => undefined,
    body: { [Symbol.asyncIterator]: () => ({ next: async () => fault() }) },
  }),
};

function deps(platform: SimPlatform, through: Pick<Net, 'http'>) {
  const target = { url, tls: {}, destination: () => ({ url, headers: {} }) };
  return { ...platform, client: createWebhookClient({ ...platform, net: through }), target };
}

/** The outcome, while virtual time advances: silence ends at the deadline. */
async function outcome(platform: SimPlatform, asking: Promise<boolean>): Promise<boolean | Error> {
  const settled = await settleWhileTimePasses(platform.clock, asking, 1000);
  return settled.error ?? settled.value;
}

/** Resolves when the server has written all it will. */
async function closeSockets(): Promise<void> {
  const closed = [...sockets].map((socket) => new Promise((resolve) => socket.destroy().once('close', resolve)));
  await Promise.all(closed);
}

for (const [kind, ask] of Object.entries(kinds))
  describe(`a hostile ${kind} webhook`, () => {
    for (const [what, how] of Object.entries(behaviours))
      test(what, async () => {
        const platform = createSimPlatform({ seed: 1 });
        behave = how;
        written = 0;
        const found = await outcome(platform, ask(platform, net));
        if (kind === 'audit' && FINE_FOR_LISTENERS.test(what)) assert.equal(found, true);
        else assert.ok(found === false || found instanceof Error, String(found));
        if (found instanceof Error) assert.ok(found.message.length < 40_000);
        assert.equal(platform.metrics.value('keelson_unexpected_errors_total', { component: '' }) ?? 0, 0);
        await closeSockets();
        assert.ok(written < 5 * 32 * MIB, `${written} bytes were sent`);
      });

    for (const [where, broken] of Object.entries(faults))
      test(`a fault of the program ${where} ends the call alone, logged with its stack and counted`, async () => {
        const platform = createSimPlatform({ seed: 1 });
        const found = await outcome(platform, ask(platform, { http: broken }));
        assert.ok(found === false || found instanceof Error, String(found));
        const attempts = kind === 'audit' ? 5 : 1;
        assert.equal(platform.metrics.value('keelson_unexpected_errors_total', { component: '' }), attempts);
        const logged = platform.log.entries.filter(({ message }) => message === 'a webhook could not be called');
        assert.equal(logged.length, attempts);
        assert.match((logged[0]!.fields['err'] as Error).stack!, /hostile-webhooks/);
      });
  });
