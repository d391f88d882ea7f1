/** TLS that is passed through to backends by server name, on ports that also terminate other names. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { connect, Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { after, afterEach, before, describe, test } from 'node:test';
import { createTestAuthority, type TestAuthority } from '../../platform/node/certificates-fixture.ts';
import type { Clock } from '../../platform/clock.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { Backend, Listener, Passthrough } from '../snapshot/snapshot.ts';
import { ClientHelloReader, type ClientHello } from './client-hello.ts';
import { atEnd, endAll, portOf, route, startBackend, startPlane, turn } from './data-plane-fixture.ts';
import { withFirstBytes } from './first-bytes.ts';
import { createPlaneLimits, type PlaneLimits } from './plane-limits.ts';

let authority: TestAuthority;
before(async () => {
  authority = await createTestAuthority('test');
});
afterEach(endAll);
after(endAll);

/** A TLS server that returns its name and the bytes it received. */
async function startTlsBackend(name: string): Promise<Backend> {
  const { certPem: cert, keyPem: key } = await authority.issue(`CN=${name}`, [name]);
  const server = createTlsServer({ cert, key }, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => socket.write(`${name} ${String(chunk)}`));
    socket.on('end', () => socket.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => server.close());
  return { protocol: 'http', endpoints: [{ address: '127.0.0.1', port: portOf(server) }] };
}

const passing = (host: string, backend: string, source = `TLSRoute ns/${backend}`): Passthrough => ({
  source,
  host,
  backends: [{ backend, weight: 1 }],
});

async function startPassthrough(
  passthrough: readonly Passthrough[],
  more: Partial<Listener> = {},
  clock?: Clock,
  limits?: PlaneLimits,
) {
  const made = await startPlane(clock, limits);
  const backends: Record<string, Backend> = {};
  for (const name of new Set(passthrough.flatMap((one) => one.backends.map(({ backend }) => backend))))
    if (name !== 'missing') backends[name] = await startTlsBackend(name);
  backends['b'] = await startBackend((_, answer) => answer.end('terminated'));
  const listener = { port: made.tlsPort, isTls: true, routes: [route()], certificates: [], passthrough, ...more };
  await made.plane.apply(1, { listeners: [listener], backends });
  return made;
}

/** The backend that responds to a client with this server name; '' for none. */
async function served(port: number, servername: string): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  const failed = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(''));
  });
  const answered = (async () => {
    await once(socket, 'secureConnect');
    socket.write('hello');
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return String(chunk);
  })();
  const answer = await Promise.race([answered.catch(() => failed), failed]);
  socket.destroy();
  return answer;
}

async function terminated(port: number, servername: string): Promise<string> {
  const asked = request({ host: '127.0.0.1', port, servername, rejectUnauthorized: false, agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return text;
}

describe('a port that passes all TLS through', () => {
  test('the exact name has precedence, then the longest wildcard, then the first of two equal ones; other names are disconnected', async () => {
    const { tlsPort } = await startPassthrough([
      passing('*.example', 'wide'),
      passing('a.example', 'exact'),
      passing('a.example', 'late'),
      passing('*.b.example', 'deep'),
    ]);
    const asked = ['a.example', 'A.example', 'x.example', 'y.x.example', 'x.b.example', 'example', 'other.test'];
    const answers = await Promise.all(asked.map((name) => served(tlsPort, name)));
    assert.deepEqual(
      answers.map((text) => text.replace(' hello', '')),
      ['exact', 'exact', 'wide', 'wide', 'deep', '', ''],
    );
    assert.equal(await served(tlsPort, ''), '');
  });

  test('the certificate is the backend’s, large bodies pass in both directions, and ends are passed on', async () => {
    const { tlsPort } = await startPassthrough([passing('a.example', 'a.example')]);
    const socket: TLSSocket = connectTls({
      host: '127.0.0.1',
      port: tlsPort,
      servername: 'a.example',
      ca: authority.caPem,
    });
    await once(socket, 'secureConnect');
    assert.equal(socket.authorized, true);
    const sent = 'x'.repeat(1_000_000);
    socket.end(sent);
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    assert.equal(text.replaceAll('a.example ', '').length, sent.length);
  });

  test('connections are divided by weight; a share without a backend or without endpoints is disconnected', async () => {
    const shares: Passthrough = {
      source: 'TLSRoute ns/r',
      host: 'a.example',
      backends: [
        { backend: 'one', weight: 3 },
        { backend: 'missing', weight: 1 },
      ],
    };
    const { tlsPort } = await startPassthrough([shares]);
    const answers: string[] = [];
    for (let at = 0; at < 8; at++) answers.push(await served(tlsPort, 'a.example'));
    assert.equal(answers.filter((text) => text === 'one hello').length, 6);
    assert.equal(answers.filter((text) => text === '').length, 2);
  });

  test('connections without TLS are closed', async () => {
    const { tlsPort } = await startPassthrough([passing('', 'all')]);
    const socket = connect({ host: '127.0.0.1', port: tlsPort });
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nhost: a.example\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
    assert.equal(await served(tlsPort, 'any.example'), 'all hello');
  });
});

test('joined connections count as two, so that their backends have file descriptors', async () => {
  const limits = createPlaneLimits({ total: 16 });
  const { tlsPort } = await startPassthrough([passing('a.example', 'a.example')], {}, undefined, limits);
  const open = async (): Promise<TLSSocket | undefined> => {
    const socket = connectTls({ host: '127.0.0.1', port: tlsPort, servername: 'a.example', rejectUnauthorized: false });
    socket.on('error', () => undefined);
    atEnd(() => socket.destroy());
    const isOpen = await Promise.race([
      once(socket, 'secureConnect').then(() => true),
      new Promise<false>((resolve) => socket.once('close', () => resolve(false))),
    ]).catch(() => false);
    return isOpen ? socket : undefined;
  };
  const first = [await open(), await open()];
  assert.ok(first.every((socket) => socket !== undefined));
  assert.equal(await open(), undefined);
  first[0]?.destroy();
  while ((await open()) === undefined) await turn();
});

describe('a port that terminates some names', () => {
  test('the most specific name decides', async () => {
    const certificates = [{ names: [''], ...(await authority.issue('CN=own', ['own'])) }];
    const { tlsPort } = await startPassthrough([passing('*.example', 'wide'), passing('p.test', 'exact')], {
      certificates,
      terminated: ['t.example', '*.test'],
    });
    assert.equal(await served(tlsPort, 'x.example'), 'wide hello');
    assert.equal(await served(tlsPort, 'p.test'), 'exact hello');
    for (const name of ['t.example', 'x.test', 'other'])
      assert.equal(await terminated(tlsPort, name), 'terminated', name);
  });
});

describe('the first message of a client', () => {
  /** The first message of a Node.js client for a server name. */
  async function helloFor(servername: string): Promise<Buffer> {
    const { createServer } = await import('node:net');
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(() => server.close());
    const client = connectTls({ host: '127.0.0.1', port: portOf(server), servername });
    client.on('error', () => undefined);
    atEnd(() => client.destroy());
    const [socket] = (await once(server, 'connection')) as [Socket];
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return bytes;
  }

  const read = (bytes: Buffer): ClientHello | undefined => new ClientHelloReader().read(bytes);

  /** The message in records of `size` bytes. */
  function inRecords(hello: Buffer, size: number): Buffer {
    const body = hello.subarray(5);
    const records: Buffer[] = [];
    for (let at = 0; at < body.length; at += size) {
      const part = body.subarray(at, at + size);
      records.push(Buffer.from([22, 3, 1, 0, part.length]), part);
    }
    return Buffer.concat(records);
  }

  test('is parsed at any length and in any records', async () => {
    const bytes = await helloFor('Web.Example');
    const whole = { isTls: true, serverName: 'web.example' };
    assert.deepEqual(read(bytes), whole);
    for (let length = 0; length < bytes.length; length++)
      assert.equal(read(bytes.subarray(0, length)), undefined, String(length));
    for (const size of [40, 100, 200]) {
      const records = inRecords(bytes, size);
      assert.deepEqual(read(records), whole);
      const reader = new ClientHelloReader();
      const answers = Array.from(records, (byte) => reader.read(Buffer.from([byte])));
      assert.deepEqual([...new Set(answers)], [undefined, answers.at(-1)]);
      assert.deepEqual(answers.at(-1), whole);
    }
    assert.deepEqual(read(await helloFor('')), { isTls: true, serverName: '' });
  });

  function recordOf(content: Buffer): Buffer {
    return Buffer.concat([Buffer.from([22, 3, 1, content.length >> 8, content.length & 0xff]), content]);
  }

  test('in more than 64 records, or beyond 64 KiB, is refused', async () => {
    const clock = new VirtualClock();
    const { tlsPort } = await startPassthrough([passing('', 'all')], {}, clock);
    const begun = Buffer.from([1, 0, 0xff, 0xff]);
    const many = inRecords(Buffer.concat([Buffer.alloc(5), begun, Buffer.alloc(61)]), 1);
    const long = Buffer.concat(Array.from({ length: 4 }, () => recordOf(Buffer.alloc(16_384))));
    long.set(begun, 5);
    for (const bytes of [many, long]) {
      const socket = connect({ host: '127.0.0.1', port: tlsPort });
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write(bytes);
      socket.resume();
      await closed;
    }
  });

  test('with a name that no host can have is refused', () => {
    const sized = (content: Buffer, lengthBytes: number): Buffer => {
      const length = Buffer.alloc(lengthBytes);
      length.writeUIntBE(content.length, 0, lengthBytes);
      return Buffer.concat([length, content]);
    };
    const named = (name: string): Buffer => {
      const names = sized(Buffer.concat([Buffer.from([0]), sized(Buffer.from(name), 2)]), 2);
      const extensions = sized(Buffer.concat([Buffer.from([0, 0]), sized(names, 2)]), 2);
      const suites = Buffer.from([0, 0, 2, 0x13, 1, 1, 0]);
      const hello = Buffer.concat([Buffer.from([3, 3]), Buffer.alloc(32), suites, extensions]);
      return recordOf(Buffer.concat([Buffer.from([1]), sized(hello, 3)]));
    };
    const longest = `${'a.'.repeat(127)}a`;
    assert.deepEqual(read(named(longest)), { isTls: true, serverName: longest });
    for (const name of [`${longest}a`, '.'.repeat(256), '.'.repeat(16_000), 'a'.repeat(16_000)])
      assert.deepEqual(read(named(name)), { isTls: false }, String(name.length));
  });

  test('that arrives byte by byte is copied once or twice, not with each byte', (context) => {
    const socket = new Socket();
    atEnd(() => socket.destroy());
    const { concat } = Buffer;
    let copied = 0;
    context.mock.method(Buffer, 'concat', (list: readonly Uint8Array[]) => {
      const whole = concat(list);
      copied += whole.length;
      return whole;
    });
    const length = 16_000;
    const bytes = recordOf(concat([Buffer.from([1, 0, length >> 8, length & 0xff]), Buffer.alloc(length)]));
    const reader = new ClientHelloReader();
    let decision: ClientHello | undefined;
    withFirstBytes(
      socket,
      { clock: new VirtualClock(), limitMs: 1000, decide: (chunk) => reader.read(chunk) },
      (hello) => (decision = hello),
    );
    for (const byte of bytes) socket.emit('data', Buffer.from([byte]));
    assert.deepEqual(decision, { isTls: true, serverName: '' });
    assert.ok(copied < 3 * bytes.length, String(copied));
  });

  test('with any wrong byte is parsed or refused, and never throws', async () => {
    const bytes = await helloFor('web.example');
    for (let at = 0; at < bytes.length; at++)
      for (const value of [0, 1, 0x7f, 0xff]) {
        const changed = Buffer.from(bytes);
        changed[at] = value;
        read(changed);
      }
    for (const text of ['GET / HTTP/1.1', '\x16\x03\x01\x00\x00', '\x17', '\x16\x02'])
      assert.deepEqual(read(Buffer.from(text, 'latin1')), { isTls: false });
  });
});
