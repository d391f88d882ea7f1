/** Clients that request long responses and do not read them. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { test } from 'node:test';
import { createMemoryLog } from '../sim/log.ts';
import { createTestAuthority } from './certificates-fixture.ts';
import { createListenHttp } from './http-server.ts';
import { UnsentAnswers } from './unsent-answers.ts';

/** An HTTP/2 stream with its response. */
class FakeStream extends EventEmitter {
  readonly writableFinished = false;
  readonly closed = false;
  readonly session: object;

  constructor(session: object) {
    super();
    this.session = session;
  }

  destroy(): void {
    this.emit('close');
  }
}

/** More than the kernel buffers for a connection. */
const ANSWER_BYTES = 32 * 1024 * 1024;
const chunk = Buffer.alloc(ANSWER_BYTES / 4, 'x');
/** Room for two and a half responses. */
const limits = { totalBytes: 2.5 * ANSWER_BYTES, stalledMs: 2000, stillMs: 60_000 };

async function withServer(
  tls: boolean,
  act: (server: { readonly port: number; open(): number }) => Promise<void>,
): Promise<void> {
  const certificate = tls ? await (await createTestAuthority('a')).issue('CN=server', ['127.0.0.1']) : undefined;
  let open = 0;
  const server = await createListenHttp(
    createMemoryLog(),
    undefined,
    limits,
  )({ host: '127.0.0.1', port: 0, ...(certificate && { tls: certificate }) }, ({ signal }) => {
    open++;
    signal.addEventListener('abort', () => open--);
    return { kind: 'bytes', status: 200, headers: {}, chunks: [chunk, chunk, chunk, chunk] };
  });
  try {
    await act({ port: server.port, open: () => open });
  } finally {
    await server.close(0);
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1500; tries++) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail('the server has not cut what it should');
}

test('streams of one connection that are not read are cut until the rest fits, and another client reads on', async () => {
  await withServer(true, async ({ port, open }) => {
    const options = { rejectUnauthorized: false, settings: { initialWindowSize: 1024 } };
    const hostile = connectHttp2(`https://127.0.0.1:${port}`, options);
    const honest = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    try {
      const streams = Array.from({ length: 6 }, () => hostile.request({ ':path': '/' }).on('error', () => undefined));
      await Promise.all(streams.map((stream) => once(stream, 'response')));
      await until(() => open() === 2);
      let bytes = 0;
      for await (const piece of honest.request({ ':path': '/' })) bytes += (piece as Buffer).length;
      assert.equal(bytes, ANSWER_BYTES);
    } finally {
      hostile.destroy();
      honest.destroy();
    }
  });
});

test('connections of HTTP/1.1 that are not read are cut until the rest fits', async () => {
  await withServer(false, async ({ port, open }) => {
    const sockets = await Promise.all(
      Array.from({ length: 8 }, async (): Promise<Socket> => {
        const socket = connectTcp(port, '127.0.0.1').pause();
        socket.on('error', () => undefined);
        await once(socket, 'connect');
        socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        return socket;
      }),
    );
    // A client that does not read sees no end, so the test reads the server's count.
    await until(() => open() === 8);
    await until(() => open() <= 4);
    assert.ok(open() > 0, 'those that fit stay');
    for (const socket of sockets) socket.destroy();
  });
});

test('short responses on many streams of one connection that is not read are aborted together, a few are kept', async () => {
  const certificate = await (await createTestAuthority('a')).issue('CN=server', ['127.0.0.1']);
  let open = 0;
  const backlog = { totalBytes: 1_000_000, stalledMs: 100, stillMs: 60_000 };
  const at = { host: '127.0.0.1', port: 0, tls: certificate };
  const body = Buffer.alloc(20_000, 'x');
  const server = await createListenHttp(
    createMemoryLog(),
    undefined,
    backlog,
  )(at, ({ signal }) => {
    open++;
    signal.addEventListener('abort', () => open--);
    return { kind: 'bytes', status: 200, headers: {}, chunks: [body] };
  });
  const ask = async (count: number) => {
    const options = { rejectUnauthorized: false, settings: { initialWindowSize: 0 } };
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, options);
    const streams = Array.from({ length: count }, () => session.request({ ':path': '/' }).on('error', () => undefined));
    await Promise.all(streams.map((stream) => once(stream, 'response')));
    return session;
  };
  const sessions = [await ask(2), await ask(100)];
  try {
    await until(() => open === 2);
  } finally {
    for (const session of sessions) session.destroy();
    await server.close(0);
  }
});

test('a connection that reads its responses is counted only while they wait', () => {
  const unsent = new UnsentAnswers();
  const session = {};
  const streams = Array.from({ length: 50 }, () => new FakeStream(session));
  for (const stream of streams) unsent.addStream(stream, 1000);
  assert.ok(unsent.bytes > 50_000);
  for (const stream of streams) stream.emit('close');
  assert.equal(unsent.bytes, 0);
});
