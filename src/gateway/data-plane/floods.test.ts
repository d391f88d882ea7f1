/** Clients and backends that send very much at one instant. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, createServer } from 'node:net';
import { after, afterEach, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { createTestAuthority } from '../../platform/node/certificates-fixture.ts';
import { loopTurns } from '../../platform/node/loop-turns.ts';
import { RAW_HTTP2 } from '../../platform/node/raw-http2-fixture.ts';
import { atEnd, endAll, get, raw, route, startBackend, startPlane, startServer } from './data-plane-fixture.ts';

afterEach(endAll);
after(endAll);

const { start, frame } = new Function(`${RAW_HTTP2}; return { start, frame };`)() as {
  readonly start: Buffer;
  frame(type: number, flags: number, stream: number, payload: Buffer): Buffer;
};
const [HEADERS, RST_STREAM, END_OF_ALL] = [1, 3, 5];
/** GET http://a/ */
const HEAD = Buffer.from([0x82, 0x86, 0x84, 0x41, 1, 0x61]);

test('streams that are reset before their turn reach no backend', async () => {
  const { port, serve } = await startPlane();
  const b = await startBackend((_request, answer) => void answer.end('ok'));
  let connections = 0;
  b.server.on('connection', () => connections++);
  await serve([route()], { b });
  const frames = [start];
  for (let stream = 1; stream < 1000; stream += 2)
    frames.push(frame(HEADERS, END_OF_ALL, stream, HEAD), frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8])));
  const socket = connect({ host: '127.0.0.1', port });
  atEnd(() => socket.destroy());
  socket.resume().write(Buffer.concat(frames));
  // Its response comes after all of them.
  const session = connectHttp2('http://a', { createConnection: () => connect({ host: '127.0.0.1', port }) });
  atEnd(() => session.destroy());
  await once(socket, 'data');
  const [head] = (await once(session.request({ ':path': '/' }), 'response')) as [Record<string, unknown>];
  assert.equal(head[':status'], 200);
  assert.ok(connections < 200, `${connections} connections for 500 streams`);
});

test('thousands of requests of one connection are all served', async () => {
  const { port, serve } = await startPlane();
  const b = await startBackend((_request, answer) => void answer.end('ok'));
  await serve([route()], { b });
  const session = connectHttp2('http://a', { createConnection: () => connect({ host: '127.0.0.1', port }) });
  atEnd(() => session.destroy());
  await once(session, 'remoteSettings');
  const statuses = await Promise.all(
    Array.from({ length: 500 }, async () => {
      const [head] = (await once(session.request({ ':path': '/' }).resume(), 'response')) as [Record<string, unknown>];
      return head[':status'];
    }),
  );
  assert.deepEqual([...new Set(statuses)], [200]);
  const pipelined = await raw(port, `${'GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(100)}GET / HTTP/1.0\r\n\r\n`);
  assert.equal(pipelined.split('HTTP/1.1 200 OK').length, 102);
});

test('a method that is not in capitals is refused: the backend would get another', async () => {
  const { port, serve } = await startPlane();
  const methods: string[] = [];
  const b = await startBackend(({ method = '' }, answer) => {
    methods.push(method);
    answer.end();
  });
  await serve([route()], { b });
  const session = connectHttp2('http://a', { createConnection: () => connect({ host: '127.0.0.1', port }) });
  atEnd(() => session.destroy());
  for (const [method, status] of [
    ['get', 400],
    ['GET', 200],
    ['Delete', 400],
  ] as const) {
    const [head] = (await once(session.request({ ':path': '/', ':method': method }).resume(), 'response')) as [
      Record<string, unknown>,
    ];
    assert.equal(head[':status'], status, method);
  }
  assert.deepEqual(methods, ['GET']);
});

test('a backend that sends interim responses without end is given up', async () => {
  const { port, serve } = await startPlane();
  const server = createServer((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)));
  });
  await serve([route()], { b: { protocol: 'http', endpoints: [await startServer(server)] } });
  assert.equal((await get(port, '/')).status, 502);
  const upgrade = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  assert.match(await raw(port, upgrade), /^HTTP\/1\.1 502 /);
});

test('chunks of a byte that a backend sends at one instant are joined', async () => {
  const { port, serve } = await startPlane();
  const server = createServer((socket) => {
    const body = `${'1\r\na\r\n'.repeat(2000)}0\r\n\r\n`;
    socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}`));
  });
  await serve([route()], { b: { protocol: 'http', endpoints: [await startServer(server)] } });
  const answer = await raw(port, 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  assert.equal(answer.match(/a/g)!.length - answer.split('\r\n\r\n')[0]!.match(/a/g)!.length >= 2000, true);
  assert.ok(answer.length < 6000, `${answer.length} bytes for 2,000 of content`);
});

test('handshakes begin in turns of the loop', async () => {
  const { tlsPort, serve } = await startPlane();
  const { certPem, keyPem } = await (await createTestAuthority('test')).issue('CN=x', ['a.example']);
  await serve([route()], {}, [{ names: [''], certPem, keyPem }]);
  const begin = loopTurns.turn.bind(loopTurns);
  let turns = 0;
  loopTurns.turn = (flow) => {
    turns++;
    return begin(flow);
  };
  atEnd(() => (loopTurns.turn = begin));
  const clients = Array.from({ length: 20 }, () => connectTls({ port: tlsPort, rejectUnauthorized: false }));
  await Promise.all(clients.map((client) => once(client, 'secureConnect')));
  for (const client of clients) client.destroy();
  assert.ok(turns >= 20, `${turns} turns`);
});
