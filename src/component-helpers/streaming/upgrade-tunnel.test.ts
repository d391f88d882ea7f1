/** The upgrade tunnel: the bytes that reach the backend, and when. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ByteSink, Duplex } from '../../platform/streams.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import { openTunnel, type TunnelAnswer } from './upgrade-tunnel.ts';

const headers = {
  host: 'api',
  connection: 'keep-alive, Upgrade',
  upgrade: 'SPDY/3.1',
  authorization: 'Bearer secret',
  'impersonate-user': 'root',
  'x-stream-protocol-version': 'v4.channel.k8s.io, v3.channel.k8s.io',
  'sec-websocket-protocol': 'v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0',
};

/** A backend that answers `head` to each request, and the tunnel to it. */
async function tunnelTo(
  head: string,
  idleMs?: number,
): Promise<{
  answer: TunnelAnswer;
  backend: Duplex;
  sent: () => string;
  settle: () => Promise<void>;
  clock: SimPlatform['clock'];
}> {
  const { net, clock } = createSimPlatform();
  let sent = '';
  const accepted = Promise.withResolvers<Duplex>();
  net.listenRaw(80, (socket) => {
    accepted.resolve(socket);
    void (async () => {
      let answered = false;
      try {
        for await (const chunk of socket.incoming) {
          sent += Buffer.from(chunk).toString();
          if (answered || !sent.includes('\r\n\r\n')) continue;
          answered = true;
          await socket.write(head);
        }
        sent += '<end>';
      } catch {
        sent += '<broken>';
      }
    })();
  });
  const answer = await openTunnel(net, {
    method: 'POST',
    url: 'http://127.0.0.1/exec/1?command=a%20b',
    headers,
    signal: new AbortController().signal,
    ...(idleMs !== undefined && { idle: { clock, timeoutMs: idleMs } }),
  });
  return { clock, answer, backend: await accepted.promise, sent: () => sent, settle: () => clock.settle() };
}

async function readAll(of: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of of) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test('the backend sees the protocols one per line and no credentials', async () => {
  const { sent } = await tunnelTo('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  assert.deepEqual(
    sent()
      .split('\r\n')
      .filter((line) => line !== ''),
    [
      'POST /exec/1?command=a%20b HTTP/1.1',
      'Host: 127.0.0.1',
      'Connection: Upgrade',
      'upgrade: SPDY/3.1',
      'x-stream-protocol-version: v4.channel.k8s.io',
      'x-stream-protocol-version: v3.channel.k8s.io',
      'sec-websocket-protocol: v4.channel.k8s.io',
      'Content-Length: 0',
    ],
  );
});

test("after 101 bytes go both ways, the client's end is passed on, the backend's end ends all", async () => {
  const { answer, backend, sent, settle } = await tunnelTo(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\nfirst',
  );
  assert.equal(answer.kind, 'upgrade');
  const [client, server] = createDuplexPair();
  const over = answer.kind === 'upgrade' ? answer.accept(server) : undefined;
  await client.write('hello');
  await client.end();
  await settle();
  assert.match(sent(), /hello<end>$/);
  await backend.write(' last');
  await backend.end();
  assert.equal(
    await readAll(client.incoming),
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\nfirst last',
  );
  await over;
});

test('a backend that switches sets no cookie of the console, however it writes the line', async () => {
  const cookie = '__Host-keelson-console-6443=evil; Path=/; Secure';
  const head = [
    'HTTP/1.1 101 Switching Protocols',
    `Set-Cookie: ${cookie}`,
    `set-cookie:${cookie}`,
    'Set-Cookie:',
    ` ${cookie}`,
    `Set-Cookie : ${cookie}`,
    'Strict-Transport-Security : max-age=1',
    'Clear-Site-Data: "*",',
    ' "cookies"',
    'Set-Cookie: own=1',
    'Upgrade: websocket',
  ].join('\r\n');
  const { answer, backend } = await tunnelTo(`${head}\n\r\n\r\nrest`);
  const [client, server] = createDuplexPair();
  const over = answer.kind === 'upgrade' ? answer.accept(server) : undefined;
  await backend.end();
  await client.end();
  const text = await readAll(client.incoming);
  await over;
  assert.doesNotMatch(text, /keelson-console/);
  assert.match(text, /^HTTP\/1.1 101 .*\r\nSet-Cookie:\r\nSet-Cookie: own=1\r\nUpgrade: websocket\r\n/s);
  assert.match(text, /\r\n\r\nrest$/);
});

test('a pair through which nothing passes any more is closed; every byte counts, either way', async () => {
  const { answer, backend, clock } = await tunnelTo('HTTP/1.1 101 Switching Protocols\r\n\r\n', 10_000);
  const [client, server] = createDuplexPair();
  const over = answer.kind === 'upgrade' ? answer.accept(server) : undefined;
  const read = readAll(client.incoming).catch((error: Error) => error.message);
  let closed = false;
  void backend.closed.then(() => (closed = true));
  await clock.advance(9_000);
  await client.write('up');
  await clock.advance(9_000);
  await backend.write('down');
  await clock.advance(9_999);
  assert.equal(closed, false);
  await clock.advance(1);
  await over;
  await read;
  assert.equal(closed, true);
  assert.equal(clock.pendingTimers, 0);
});

test("a client that breaks off ends the backend's connection", async () => {
  const { answer, backend } = await tunnelTo('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  const [client, server] = createDuplexPair();
  const over = answer.kind === 'upgrade' ? answer.accept(server) : undefined;
  client.destroy(new Error('gone'));
  await over;
  await backend.closed;
});

test('an unused tunnel disconnects from the backend', async () => {
  const { answer, backend } = await tunnelTo('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  assert.equal(answer.kind, 'upgrade');
  if (answer.kind === 'upgrade') answer.dispose();
  await backend.closed;
});

test('without 101 no byte of the client reaches the backend: its response is forwarded and the connection closed', async () => {
  for (const [head, expected] of [
    ['HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nnope!GARBAGE', 'nope!'],
    ['HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', 'abcde'],
  ] as const) {
    const { answer, sent, settle } = await tunnelTo(head);
    assert.equal(answer.kind, 'stream');
    if (answer.kind !== 'stream') return;
    assert.equal(answer.status, Number(head.slice(9, 12)));
    let body = '';
    const sink: ByteSink = {
      write: async (chunk) => void (body += Buffer.from(chunk as Uint8Array).toString()),
      end: async () => undefined,
    };
    await answer.run(sink);
    assert.equal(body, expected);
    await settle();
    assert.match(sent(), /<(end|broken)>$/);
  }
});

test('requests without an upgrade, or for a missing backend, are refused', async () => {
  const { net } = createSimPlatform();
  const request = { method: 'GET', url: 'http://127.0.0.1/', signal: new AbortController().signal };
  await assert.rejects(openTunnel(net, { ...request, headers: {} }), { message: 'Upgrade request required' });
  await assert.rejects(openTunnel(net, { ...request, headers }), { code: 'ECONNREFUSED' });
});

test('no value of a request can inject a header or a second request', async () => {
  const { net, clock } = createSimPlatform();
  let sent = '';
  net.listenRaw(80, (socket) => {
    void (async () => {
      for await (const chunk of socket.incoming) sent += Buffer.from(chunk).toString('latin1');
    })();
  });
  const smuggled = 'x\r\n\r\nDELETE /apis/g/v1/things/victim HTTP/1.1\r\nX-Remote-User: admin\r\n\r\n';
  const base = { method: 'GET', url: 'http://127.0.0.1/', headers, signal: new AbortController().signal };
  const attempts: readonly (readonly [string, Partial<Parameters<typeof openTunnel>[1]>])[] = [
    ['added value', { added: { 'x-remote-user': smuggled } }],
    ['added list', { added: { 'x-remote-group': ['fine', smuggled] } }],
    ['added name', { added: { [`x-remote-extra-${smuggled}`]: 'v' } }],
    ['added name with a space', { added: { 'x y': 'v' } }],
    ['line feed alone', { added: { 'x-remote-user': 'a\nx-remote-group: system:masters' } }],
    ['carriage return alone', { added: { 'x-remote-user': 'a\rb' } }],
    ['NUL', { added: { 'x-remote-user': 'a\0b' } }],
    ['host', { added: { host: `h${smuggled}` } }],
    ['method', { method: 'GET / HTTP/1.1\r\nX: ' }],
    ["client's value", { headers: { ...headers, 'x-own': smuggled } }],
    ["client's protocols", { headers: { ...headers, 'sec-websocket-protocol': `v4, ${smuggled}` } }],
    ["client's stream protocols", { headers: { ...headers, 'x-stream-protocol-version': `v4, ${smuggled}` } }],
    ["client's name", { headers: { ...headers, [`x-own: a\r\nx`]: 'v' } }],
  ];
  for (const [what, order] of attempts) {
    await assert.rejects(openTunnel(net, { ...base, ...order }), { code: 400 }, what);
    await clock.settle();
    assert.equal(sent, '', what);
  }
});

test('names beyond ASCII are sent as their UTF-8 bytes', async () => {
  const { net } = createSimPlatform();
  const sent = Promise.withResolvers<Buffer>();
  net.listenRaw(80, (socket) => {
    void (async () => {
      for await (const chunk of socket.incoming) {
        sent.resolve(Buffer.from(chunk));
        await socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      }
    })().catch(() => undefined);
  });
  const answer = await openTunnel(net, {
    method: 'GET',
    url: 'http://127.0.0.1/',
    headers: { ...headers, 'x-own': Buffer.from('Ω', 'utf8').toString('latin1') },
    added: { 'x-remote-user': 'jürgen€' },
    signal: new AbortController().signal,
  });
  const text = (await sent.promise).toString('utf8');
  assert.match(text, /\r\nx-remote-user: jürgen€\r\n/);
  assert.match(text, /\r\nx-own: Ω\r\n/);
  if (answer.kind === 'upgrade') answer.dispose();
});
