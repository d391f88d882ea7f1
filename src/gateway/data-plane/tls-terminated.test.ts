/** TLS that ends at the data plane, with the inner bytes passed on to backends. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { after, afterEach, before, test } from 'node:test';
import type { Clock } from '../../platform/clock.ts';
import { createTestAuthority, type TestAuthority } from '../../platform/node/certificates-fixture.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { Backend, Listener, Passthrough } from '../snapshot/snapshot.ts';
import { atEnd, endAll, route, startBackend, startPlane, startServer } from './data-plane-fixture.ts';

let authority: TestAuthority;
before(async () => {
  authority = await createTestAuthority('test');
});
afterEach(endAll);
after(endAll);

/** A server that responds to each chunk with its name, and ends with the client. */
function echo(name: string): (socket: Socket) => void {
  return (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => socket.write(`${name} ${String(chunk)}`));
    socket.on('end', () => socket.end('bye'));
  };
}

async function plainBackend(name: string): Promise<Backend> {
  return { protocol: 'http', endpoints: [await startServer(createServer({ allowHalfOpen: true }, echo(name)))] };
}

async function tlsBackend(name: string, caPem: string): Promise<Backend> {
  const { certPem: cert, keyPem: key } = await authority.issue(`CN=${name}`, [name]);
  const server = createTlsServer({ cert, key, allowHalfOpen: true }, echo(name));
  return { protocol: 'https', endpoints: [await startServer(server)], verification: { serverName: name, caPem } };
}

const terminated = (host: string, backend: string): Passthrough => ({
  source: `TLSRoute ns/${backend}`,
  host,
  isTerminated: true,
  backends: [{ backend, weight: 1 }],
});

const certificateOf = async (name: string) => ({ names: [name], ...(await authority.issue(`CN=${name}`, [name])) });

async function start(listener: Partial<Listener>, backends: Record<string, Backend>, clock?: Clock) {
  const made = await startPlane(clock);
  const whole = { port: made.tlsPort, isTls: true, isTcp: true, routes: [], certificates: [], ...listener };
  await made.plane.apply(1, { listeners: [whole], backends });
  return { ...made, listener: whole };
}

/** The response to a client that trusts the authority and requests the server name, or ''. */
async function answered(port: number, servername: string, more: object = {}): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port, servername, ca: authority.caPem, ...more });
  atEnd(() => socket.destroy());
  socket.end('hello');
  let answer = '';
  try {
    for await (const chunk of socket) answer += String(chunk);
  } catch {
    return answer;
  }
  return answer;
}

test('the inner bytes reach the backend in plain, the certificate is that of the name, and ends are passed on', async () => {
  const { tlsPort } = await start(
    {
      passthrough: [terminated('a.example', 'one'), terminated('*.wide.test', 'two')],
      certificates: [await certificateOf('a.example'), await certificateOf('*.wide.test')],
    },
    { one: await plainBackend('one'), two: await plainBackend('two') },
  );
  assert.equal(await answered(tlsPort, 'a.example'), 'one hellobye');
  assert.equal(await answered(tlsPort, 'b.wide.test'), 'two hellobye');
  // No ALPN protocol is negotiated, whatever a client offers, because the backend's protocol is unknown.
  assert.equal(await answered(tlsPort, 'a.example', { ALPNProtocols: ['h2', 'http/1.1'] }), 'one hellobye');
  // The certificate covers one label, as clients interpret it, and the route any number.
  assert.equal(await answered(tlsPort, 'c.b.wide.test', { checkServerIdentity: () => undefined }), 'two hellobye');
  for (const name of ['other.example', ''])
    assert.equal(await answered(tlsPort, name, { rejectUnauthorized: false }), '');
});

test('large bodies pass in both directions', async () => {
  const { tlsPort } = await start(
    { passthrough: [terminated('a.example', 'b')], certificates: [await certificateOf('a.example')] },
    {
      b: {
        protocol: 'http',
        endpoints: [await startServer(createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)))],
      },
    },
  );
  const socket: TLSSocket = connectTls({
    host: '127.0.0.1',
    port: tlsPort,
    servername: 'a.example',
    ca: authority.caPem,
  });
  atEnd(() => socket.destroy());
  await once(socket, 'secureConnect');
  const sent = 'x'.repeat(3_000_000);
  socket.end(sent);
  let length = 0;
  for await (const chunk of socket) length += (chunk as Buffer).length;
  assert.equal(length, sent.length);
});

test('a backend with a policy is reached by TLS; one whose identity cannot be verified receives nothing', async () => {
  const { caPem: otherCa } = await createTestAuthority('other');
  const { tlsPort } = await start(
    {
      passthrough: [terminated('a.example', 'good'), terminated('b.example', 'bad')],
      certificates: [await certificateOf('a.example'), await certificateOf('b.example')],
    },
    { good: await tlsBackend('inner', authority.caPem), bad: await tlsBackend('inner', otherCa) },
  );
  assert.equal(await answered(tlsPort, 'a.example'), 'inner hellobye');
  assert.equal(await answered(tlsPort, 'b.example'), '');
});

test('beside passthrough and HTTP the most specific name decides', async () => {
  const passed: Passthrough = { source: 'TLSRoute ns/p', host: 'p.example', backends: [{ backend: 'p', weight: 1 }] };
  const { tlsPort } = await start(
    {
      isTcp: false,
      routes: [route()],
      passthrough: [terminated('t.example', 't'), passed],
      terminated: ['*.example'],
      certificates: [await certificateOf('t.example'), { ...(await certificateOf('h.example')), names: ['*.example'] }],
    },
    {
      t: await plainBackend('t'),
      p: await tlsBackend('p.example', authority.caPem),
      b: await startBackend((_, answer) => answer.end('http')),
    },
  );
  assert.equal(await answered(tlsPort, 't.example'), 't hellobye');
  assert.equal(await answered(tlsPort, 'p.example'), 'p.example hellobye');
  const asked = request({
    host: '127.0.0.1',
    port: tlsPort,
    servername: 'h.example',
    ca: authority.caPem,
    agent: false,
  });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  assert.equal(text, 'http');
});

test('a changed certificate applies to the next connection and does not affect open ones', async () => {
  const { tlsPort, plane, listener } = await start(
    { passthrough: [terminated('a.example', 'b')], certificates: [await certificateOf('a.example')] },
    { b: await plainBackend('b') },
  );
  const open = connectTls({ host: '127.0.0.1', port: tlsPort, servername: 'a.example', ca: authority.caPem });
  atEnd(() => open.destroy());
  await once(open, 'secureConnect');
  const before_ = open.getPeerCertificate().fingerprint256;
  const certificates = [await certificateOf('a.example')];
  await plane.apply(2, { listeners: [{ ...listener, certificates }], backends: { b: await plainBackend('new') } });
  const next = connectTls({ host: '127.0.0.1', port: tlsPort, servername: 'a.example', ca: authority.caPem });
  atEnd(() => next.destroy());
  await once(next, 'secureConnect');
  assert.notEqual(next.getPeerCertificate().fingerprint256, before_);
  for (const [socket, expected] of [
    [open, 'b still'],
    [next, 'new still'],
  ] as const) {
    socket.write('still');
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    assert.equal(String(chunk), expected);
  }
});

test('a handshake that stalls after its first message is closed', async () => {
  const clock = new VirtualClock();
  const { tlsPort } = await start(
    { passthrough: [terminated('a.example', 'b')], certificates: [await certificateOf('a.example')] },
    { b: await plainBackend('b') },
    clock,
  );
  const wire = connect({ host: '127.0.0.1', port: tlsPort });
  atEnd(() => wire.destroy());
  await once(wire, 'connect');
  const closed = once(wire, 'close');
  // The first message is sent; the data plane's response is not read.
  const deaf = new Duplex({
    read: () => undefined,
    write: (chunk, _encoding, done) => void wire.write(chunk as Buffer, () => done()),
  });
  const client = connectTls({ socket: deaf, servername: 'a.example' });
  client.on('error', () => undefined);
  atEnd(() => client.destroy());
  await once(wire, 'data');
  wire.resume();
  await clock.advance(11_000);
  await closed;
});
