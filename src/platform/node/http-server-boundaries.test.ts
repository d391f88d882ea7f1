/** A failure in a handler or a response ends only that request, over HTTP/1.1, HTTP/2 and upgrades. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { HttpHandler, HttpResponse, HttpServer } from '../http.ts';
import { createMemoryLog } from '../sim/log.ts';
import type { ByteSink } from '../streams.ts';
import { createTestAuthority } from './certificates-fixture.ts';
import { readAll } from './http-handler-fixture.ts';
import { createListenHttp } from './http-server.ts';
import { createNodeNet } from './net.ts';

const bytes = (status: number, headers: object): HttpResponse => ({
  kind: 'bytes',
  status,
  headers: headers as Record<string, string>,
  chunks: [Buffer.from('ok')],
});
const stream = (run: (sink: ByteSink) => Promise<void>, headers = {}): HttpResponse => ({
  kind: 'stream',
  status: 200,
  headers,
  run,
});
const notBytes = { byteLength: 1e6 } as Uint8Array;
const neverEnds = new Promise<void>(() => undefined);
const late = (make: () => HttpResponse): Promise<HttpResponse> => new Promise(setImmediate).then(make);
const broken = (): never => {
  throw new TypeError('broken');
};

/** The handler's response by path; clients get a 500 or an incomplete response. */
const cases: Readonly<Record<string, readonly [make: () => HttpResponse | Promise<HttpResponse>, seen: 500 | 'cut']>> =
  {
    '/throws': [broken, 500],
    '/rejects': [() => late(broken), 500],
    '/throws-nothing': [() => Promise.reject(undefined), 500],
    '/header-name': [() => bytes(200, { 'x a\r': 'b' }), 500],
    '/status-99': [() => bytes(99, {}), 500],
    '/status-99999': [() => bytes(99_999, {}), 500],
    '/stream-head': [() => stream((sink) => sink.end(), { 'x\na': 'b' }), 500],
    '/late-stream-head': [() => late(() => stream((sink) => sink.end(), { 'x\na': 'b' })), 500],
    '/run-throws': [() => stream(broken), 'cut'],
    '/run-rejects': [() => stream(async (sink) => (await sink.write('a'), broken())), 'cut'],
    '/writes-no-bytes': [() => stream(async (sink) => (await sink.write(notBytes), neverEnds)), 'cut'],
    '/writes-no-bytes-later': [
      () =>
        stream(async (sink) => (void sink.write('a'), await sink.write({ byteLength: 1 } as Uint8Array), neverEnds)),
      'cut',
    ],
  };

const handler: HttpHandler = ({ path }) => cases[path]?.[0]() ?? bytes(200, {});
const log = createMemoryLog();
const net = createNodeNet();
after(() => net.close());
beforeEach(() => void (log.entries as unknown[]).splice(0));

/** Each is logged once, with its stack where there is one. */
function assertLogged(path: string): void {
  const found = log.entries.map(({ level, fields }) => [level, fields['path']]);
  assert.deepEqual(found, [['error', path]], path);
}

describe('HTTP/1.1', () => {
  let server: HttpServer;
  let base: string;
  before(async () => {
    server = await createListenHttp(log)({ host: '127.0.0.1', port: 0 }, handler);
    base = `http://127.0.0.1:${server.port}`;
  });
  after(() => server.close(0));

  for (const [path, [, seen]] of Object.entries(cases)) {
    test(`${path} ends in ${seen}, and the next request is served`, async () => {
      const answer = net.http({ method: 'POST', url: `${base}${path}` });
      if (seen === 'cut') await assert.rejects(answer.then(readAll));
      else {
        const status = JSON.parse(await readAll(await answer)) as { kind: string; code: number };
        assert.deepEqual([(await answer).status, status.kind, status.code], [500, 'Status', 500]);
      }
      assertLogged(path);
      assert.equal(await readAll(await net.http({ method: 'GET', url: `${base}/` })), 'ok');
    });
  }

  test('an upgrade that breaks, is refused with a bad head or cannot be disposed of ends its connection alone', async () => {
    const accepts: Record<string, HttpHandler> = {
      '/accept-throws': () => ({ kind: 'upgrade', accept: broken }),
      '/accept-rejects': () => ({ kind: 'upgrade', accept: () => Promise.reject(new TypeError('broken')) }),
      '/handler-throws': broken,
      '/bad-refusal': () => bytes(403, { 'x\na': 'b' }),
    };
    const own = await createListenHttp(log)({ host: '127.0.0.1', port: 0 }, (request) =>
      request.path === '/' ? bytes(200, {}) : accepts[request.path]!(request),
    );
    for (const path of Object.keys(accepts)) {
      (log.entries as unknown[]).splice(0);
      const socket = connectTcp(own.port, '127.0.0.1');
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`);
      let text = '';
      socket.on('data', (chunk) => (text += String(chunk))).on('error', () => undefined);
      await once(socket, 'close');
      assert.match(text, path.startsWith('/accept') ? /^$/ : /^HTTP\/1.1 500 /, path);
      assertLogged(path);
    }
    const answer = await net.http({ method: 'GET', url: `http://127.0.0.1:${own.port}/` });
    assert.equal(await readAll(answer), 'ok');
    await own.close(0);
  });

  test('a connection whose upgrade was refused or has ended is closed, also when the client keeps its side open', async () => {
    const answers: Record<string, HttpHandler> = {
      '/refused': () => bytes(403, {}),
      '/broken': broken,
      '/accepted': () => ({ kind: 'upgrade', accept: (socket) => socket.write('bytes') }),
      '/ended': () => ({ kind: 'upgrade', accept: (socket) => socket.end() }),
    };
    const own = await createListenHttp(log)({ host: '127.0.0.1', port: 0 }, (request) =>
      answers[request.path]!(request),
    );
    const left = Object.keys(answers).map(async (path) => {
      const socket = connectTcp({ port: own.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => undefined).resume();
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nunread bytes`);
      await once(socket, 'end');
      // A write to a connection that the server has closed resets it.
      const writes = setInterval(() => socket.write('more'), 50);
      await new Promise((resolve) => socket.once('close', resolve));
      clearInterval(writes);
    });
    await Promise.all(left);
    await own.close(0);
  });
});

describe('HTTP/2', () => {
  let server: HttpServer;
  let session: ClientHttp2Session;
  before(async () => {
    const authority = await createTestAuthority('test CA');
    const tls = await authority.issue('CN=server', ['127.0.0.1']);
    server = await createListenHttp(log)({ host: '127.0.0.1', port: 0, tls }, handler);
    session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: authority.caPem });
  });
  after(async () => {
    session.destroy();
    await server.close(0);
  });

  const ask = async (path: string): Promise<{ status: number | undefined; body: string; isCut: boolean }> => {
    const request = session.request({ ':path': path });
    let [status, body, isCut]: [number | undefined, string, boolean] = [undefined, '', false];
    request.on('response', (headers) => (status = headers[':status']));
    request.on('data', (chunk) => (body += String(chunk))).on('error', () => (isCut = true));
    await new Promise((resolve) => request.once('close', resolve));
    return { status, body, isCut };
  };

  for (const [path, [, seen]] of Object.entries(cases)) {
    test(`${path} ends in ${seen}, and its connection continues`, async () => {
      const { status, body, isCut } = await ask(path);
      if (seen === 'cut') assert.ok(isCut);
      else assert.deepEqual([status, (JSON.parse(body) as { code: number }).code, isCut], [500, 500, false]);
      assertLogged(path);
      assert.deepEqual(await ask('/'), { status: 200, body: 'ok', isCut: false });
    });
  }
});

test('after a response to an unread chunked body the connection ends', async () => {
  const answer = { kind: 'bytes', status: 403, headers: {}, chunks: [Buffer.from('no')] } as const;
  const server = await createListenHttp(createMemoryLog())({ host: '127.0.0.1', port: 0 }, () => answer);
  const socket = connectTcp(server.port, '127.0.0.1').on('error', () => undefined);
  let text = '';
  socket.on('data', (data: Buffer) => (text += data.toString()));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
  await closed;
  await server.close(0);
  assert.match(text, /^HTTP\/1.1 403[^]*connection: close/i);
});
