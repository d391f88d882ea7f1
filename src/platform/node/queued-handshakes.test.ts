/** Many clients that begin a TLS handshake at once, and others beside them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { test } from 'node:test';
import { createMemoryLog } from '../sim/log.ts';
import { createTestAuthority } from './certificates-fixture.ts';
import { createListenHttp } from './http-server.ts';

async function listen(http2 = true) {
  const authority = await createTestAuthority('test CA');
  const tls = await authority.issue('CN=server', ['127.0.0.1']);
  const answer = { kind: 'bytes', status: 200, headers: {}, chunks: [Buffer.from('ok')] } as const;
  const log = createMemoryLog();
  const limits = { total: 1000, ofOneAddress: 1000 };
  const listening = createListenHttp(log, limits)({ host: '127.0.0.1', port: 0, tls: { ...tls, http2 } }, () => answer);
  return { server: await listening, ca: authority.caPem };
}

/** The first message of a client. */
async function recordHello(): Promise<Buffer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const client = connect({ host: '127.0.0.1', port }).on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return hello;
}

test('handshakes that begin at once leave sockets and timers their turn between them', async () => {
  const { server } = await listen();
  const hello = await recordHello();
  const open = async (): Promise<Socket> => {
    const socket = createConnection({ host: '127.0.0.1', port: server.port });
    await once(socket, 'connect');
    return socket;
  };
  const sockets = await Promise.all(Array.from({ length: 200 }, open));
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  try {
    const answers = Promise.all(sockets.map((socket) => once(socket, 'data')));
    for (const socket of sockets) socket.write(hello);
    count();
    await answers;
    isOver = true;
    assert.ok(turns > 5, `${turns} turns`);
  } finally {
    isOver = true;
    for (const socket of sockets) socket.destroy();
    await server.close(0);
  }
});

test('a ClientHello in small pieces is answered, and data behind it in the same piece too', async () => {
  const { server, ca } = await listen(false);
  const client = createConnection({ host: '127.0.0.1', port: server.port });
  const pieces: Buffer[] = [];
  const proxy = createServer((socket) => {
    client.pipe(socket);
    socket.on('error', () => undefined).on('data', (data: Buffer) => pieces.push(data));
    const feed = setInterval(() => {
      const piece = pieces.shift();
      if (piece === undefined) return;
      const size = Math.max(1, piece.length >> 3);
      client.write(piece.subarray(0, size));
      if (piece.length > size) pieces.unshift(piece.subarray(size));
    }, 1);
    socket.once('close', () => clearInterval(feed));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as { port: number };
  const secure = connect({ host: '127.0.0.1', port, ca });
  try {
    await once(secure, 'secureConnect');
    secure.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    const [answer] = (await once(secure, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1.1 200/);
  } finally {
    secure.destroy();
    client.destroy();
    proxy.close();
    await server.close(0);
  }
});

test('silent connections, and those that close before TLS, are no longer counted', async () => {
  const { server, ca } = await listen();
  const silent = createConnection({ host: '127.0.0.1', port: server.port });
  await once(silent, 'connect');
  const leaving = createConnection({ host: '127.0.0.1', port: server.port });
  await once(leaving, 'connect');
  leaving.resetAndDestroy();
  const other = connect({ host: '127.0.0.1', port: server.port, ca });
  await once(other, 'secureConnect');
  other.destroy();
  silent.end();
  await once(silent, 'close');
  await server.close(1000);
});
