import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { HttpServer } from '../http.ts';
import { handler, readAll, seen } from './http-handler-fixture.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createListenHttp } from './http-server.ts';
import { createNodeNet } from './net.ts';

const listenHttp = createListenHttp(createMemoryLog());
const net = createNodeNet();
after(() => net.close());

/** Decodes a chunked body. Throws on invalid framing. */
function unchunked(text: string): string {
  let body = '';
  for (let at = 0; ;) {
    const end = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, end), 16);
    assert.ok(size >= 0, `a size at ${at}`);
    body += text.slice(end + 2, end + 2 + size);
    at = end + 2 + size;
    assert.equal(text.slice(at, at + 2), '\r\n');
    at += 2;
    if (size === 0) return body;
  }
}

describe('plain HTTP/1.1', () => {
  let server: HttpServer;
  let base: string;
  before(async () => {
    server = await listenHttp({ host: '127.0.0.1', port: 0 }, handler);
    base = `http://127.0.0.1:${server.port}`;
  });
  after(() => server.close(0));

  test('responses keep every byte, small or large, in one piece or several', async () => {
    for (const [pieces, times] of [
      [1, 0],
      [1, 1],
      [3, 2],
      [1, 65],
      [2, 100],
      [4, 2000],
    ] as const) {
      const { body } = await net.http({ method: 'GET', url: `${base}/bytes?${pieces},${times}` });
      const got: Uint8Array[] = [];
      for await (const chunk of body) got.push(chunk);
      const all = Buffer.concat(got);
      assert.equal(all.length, 256 * times);
      assert.equal(
        all.findIndex((byte, index) => byte !== index % 256),
        -1,
      );
    }
  });

  test('values with commas stay whole, one per line', async () => {
    const headers = { 'X-Lines': ['a, b', 'c'] };
    const text = await readAll(await net.http({ method: 'GET', url: base, headers }));
    assert.deepEqual((JSON.parse(text) as { lines: string[] }).lines, ['a, b', 'c']);
  });

  test('passes raw path, query and body through', async () => {
    const answer = await net.http({ method: 'POST', url: `${base}/a%2Fb/c?x=%20&y`, body: 'hello' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['x-many'], 'a, b');
    const text = await readAll(answer);
    assert.equal(answer.headers['content-length'], String(text.length));
    assert.deepEqual(JSON.parse(text), {
      method: 'POST',
      path: '/a%2Fb/c',
      query: 'x=%20&y',
      body: 'hello',
      wantsUpgrade: false,
    });
  });

  test('a DELETE has its body, and the next request on the connection is its own', async () => {
    for (const body of ['{"gracePeriodSeconds":0}', 'größer']) {
      const answer = await net.http({ method: 'DELETE', url: `${base}/x`, body });
      assert.equal((JSON.parse(await readAll(answer)) as { body: string }).body, body);
    }
  });

  test('HEAD has the length and no body', async () => {
    const answer = await net.http({ method: 'HEAD', url: `${base}/` });
    assert.ok(Number(answer.headers['content-length']) > 0);
    assert.equal(await readAll(answer), '');
  });

  test('bodies past the limit are refused, announced or not', async () => {
    const announced = await net.http({ method: 'POST', url: `${base}/limit`, body: 'x'.repeat(11) });
    assert.deepEqual([announced.status, await readAll(announced)], [413, 'request body exceeds 10 bytes']);
    const headers = { 'transfer-encoding': 'chunked' };
    const chunked = await net.http({ method: 'POST', url: `${base}/limit`, body: 'x'.repeat(11), headers });
    assert.deepEqual([chunked.status, await readAll(chunked)], [413, 'request body exceeds 10 bytes']);
    const fits = await net.http({ method: 'POST', url: `${base}/limit`, body: 'x'.repeat(10) });
    assert.equal(fits.status, 200);
    await readAll(fits);
  });

  test('streams arrive whole; a failed stream breaks off', async () => {
    const text = await readAll(await net.http({ method: 'GET', url: `${base}/stream` }));
    assert.equal(text.split('\n').length, 1001);
    const failing = net.http({ method: 'GET', url: `${base}/stream?fail` }).then(readAll);
    await assert.rejects(failing);
  });

  test('streams written in many turns arrive complete and in order, also those written at once', async () => {
    const wanted = Array.from({ length: 1000 }, (_, line) => `line ${line}\n`).join('');
    assert.equal(await readAll(await net.http({ method: 'GET', url: `${base}/stream?turns` })), wanted);
    const { hostname, port } = new URL(base);
    const ask = 'GET /stream?turns HTTP/1.1\r\nHost: a\r\n';
    const socket = connect(Number(port), hostname, () => socket.write(`${ask}\r\n${ask}Connection: close\r\n\r\n`));
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    const bodies = text.split('HTTP/1.1 200 OK').slice(1);
    assert.equal(bodies.length, 2);
    for (const body of bodies) assert.equal(unchunked(body.slice(body.indexOf('\r\n\r\n') + 4)), wanted);
  });

  test('upgrades carry bytes both ways with half-close; others refuse them', async () => {
    const headers = { upgrade: 'echo' };
    const before = seen.disposed; // Shared with other files of this process.
    const upgraded = await net.upgrade({ method: 'GET', url: `${base}/upgrade`, headers });
    assert.ok('socket' in upgraded);
    await upgraded.socket.write('ping');
    await upgraded.socket.end();
    const chunks: Uint8Array[] = [];
    for await (const chunk of upgraded.socket.incoming) chunks.push(chunk);
    assert.equal(Buffer.concat(chunks).toString(), 'ping');
    await upgraded.socket.closed;
    const refused = await net.upgrade({ method: 'GET', url: `${base}/plain`, headers });
    assert.ok(!('socket' in refused));
    assert.equal(JSON.parse(await readAll(refused)).wantsUpgrade, true);
    assert.equal(seen.disposed, before);
    const offer = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAoAAA' };
    for (const [asked, sent] of [{}, offer].entries()) {
      const notAsked = await net.http({ method: 'GET', url: `${base}/upgrade`, headers: sent });
      assert.deepEqual([notAsked.status, await readAll(notAsked)], [400, 'you must request an upgrade\n']);
      assert.equal(seen.disposed, before + asked + 1);
    }
  });

  test('a client that leaves aborts the request', async () => {
    seen.signals.length = 0;
    const controller = new AbortController();
    const call = net.http({ method: 'GET', url: `${base}/hang`, signal: controller.signal });
    while (seen.signals.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const aborted = new Promise((resolve) => seen.signals[0]!.addEventListener('abort', resolve));
    controller.abort(new Error('left'));
    await assert.rejects(call, /left/);
    await aborted;
    await assert.rejects(net.http({ method: 'GET', url: `${base}/hang`, timeoutMs: 20 }), { code: 'ETIMEDOUT' });
  });

  test('errors carry codes', async () => {
    await assert.rejects(listenHttp({ host: '127.0.0.1', port: server.port }, handler), { code: 'EADDRINUSE' });
    const closing = await listenHttp({ host: '127.0.0.1', port: 0 }, handler);
    const { port } = closing;
    await closing.close(0);
    await assert.rejects(net.http({ method: 'GET', url: `http://127.0.0.1:${port}/` }), { code: 'ECONNREFUSED' });
    await assert.rejects(net.dial({ host: '127.0.0.1', port }), { code: 'ECONNREFUSED' });
    await assert.rejects(net.dial({ unixPath: '/nowhere.sock' }), { code: 'ENOENT' });
  });

  test('close cuts requests that outlast the grace', async () => {
    const own = await listenHttp({ host: '127.0.0.1', port: 0 }, handler);
    seen.signals.length = 0;
    const call = net.http({ method: 'GET', url: `http://127.0.0.1:${own.port}/hang` });
    const cut = assert.rejects(call, { code: 'ECONNRESET' });
    while (seen.signals.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await own.close(1);
    await cut;
  });
});
