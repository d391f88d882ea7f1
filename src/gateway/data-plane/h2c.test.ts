/** HTTP/2 without TLS, by prior knowledge, on the same port as HTTP/1.1. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { after, afterEach, test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { atEnd, endAll, get, raw, route, startBackend, startPlane, turn } from './data-plane-fixture.ts';

afterEach(endAll);
after(endAll);

async function start() {
  const made = await startPlane();
  const backend = await startBackend((request, answer) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () =>
      answer.end(`${request.method} ${request.headers.host} ${request.headers['x-forwarded-proto']} ${body}`),
    );
  });
  await made.serve([route()], { b: backend });
  return made;
}

test('clients with prior knowledge and HTTP/1.1 clients are served', async () => {
  const { port } = await start();
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  atEnd(() => session.destroy());
  for (const body of ['one', 'x'.repeat(100_000)]) {
    const stream = session.request({ ':authority': 'web.example', ':path': '/', ':method': 'POST' });
    stream.end(body);
    let text = '';
    for await (const chunk of stream) text += String(chunk);
    assert.equal(text, `POST web.example http ${body}`);
  }
  assert.match((await get(port, '/', { method: 'POST', body: 'p' })).body, /^POST .* http p$/);
});

test('when a client ends its side, its requests end, because its later disappearance could not be noticed', async () => {
  const { port, serve } = await startPlane();
  const b = await startBackend((_request, answer) => void answer.write('begun'));
  await serve([route()], { b });
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  const session = connectHttp2('http://web.example', { createConnection: () => socket });
  session.on('error', () => undefined);
  atEnd(() => session.destroy());
  const stream = session.request({ ':path': '/' });
  stream.on('error', () => undefined);
  const [[, answer]] = (await Promise.all([once(b.server, 'request'), once(stream, 'response')])) as [
    [unknown, ServerResponse],
    unknown,
  ];
  socket.end();
  await once(answer, 'close');
  assert.equal(answer.writableFinished, false);
});

test('heads that arrive byte by byte are served, also those that begin like the preface', async () => {
  const { port } = await start();
  for (const method of ['PUT', 'PROPFIND', 'GET']) {
    const socket = connect({ host: '127.0.0.1', port });
    for (const byte of `${method} * HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n`) {
      socket.write(byte);
      await turn();
    }
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    assert.match(text, /^HTTP\/1\.1 /, method);
  }
});

test('a client that ends its side after part of the preface is disconnected; all requests of one write are answered', async () => {
  const { port } = await start();
  const socket = connect({ host: '127.0.0.1', port });
  socket.end('PRI * HT');
  await once(socket, 'close');
  const request = 'GET / HTTP/1.1\r\nhost: a.example\r\n';
  const answers = await raw(port, `${request}\r\n${request}\r\n${request}connection: close\r\n\r\n`);
  assert.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 3);
});

test('a client that sends nothing is disconnected after the timeout of a head', async () => {
  const { clock } = createSimPlatform();
  const { port, serve } = await startPlane(clock);
  await serve([route()], {});
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  for (let at = 0; at < 50; at++) await turn();
  await clock.advance(10_000);
  socket.resume();
  await closed;
});
