/**
 * Streams of exec, attach and port-forward over real connections, with hostile backends and clients: each ends without affecting
 * others, none with an internal fault, both connections are closed, and the next stream works.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { HttpServer } from '../../platform/http.ts';
import { createNodeClock } from '../../platform/node/clock.ts';
import { createListenHttp } from '../../platform/node/http-server.ts';
import { createNodeNet } from '../../platform/node/net.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { openTunnel } from './upgrade-tunnel.ts';

const clock = createNodeClock();
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
const chunk = Buffer.alloc(64 * 1024, 'x');

function flood(socket: Socket): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

/** What a runtime's streaming server does with the request. */
const backends: Readonly<Record<string, (socket: Socket) => unknown>> = {
  'closes at once': (socket) => socket.destroy(),
  'resets at once': (socket) => socket.resetAndDestroy(),
  'says nothing and ends': (socket) => socket.end(),
  'is not HTTP': (socket) => socket.end('SSH-2.0-OpenSSH\r\n\r\n'),
  'sends bytes of every value': (socket) => socket.end(Buffer.from(Array.from({ length: 256 }, (_, i) => i))),
  'breaks its head off': (socket) => socket.end('HTTP/1.1 101 Switching'),
  'sends a head without end': (socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nx: ');
    flood(socket);
  },
  'answers with a status that is none': (socket) => socket.end('HTTP/1.1 999 \r\ncontent-length: 0\r\n\r\n'),
  'answers with a head that cannot be passed on': (socket) =>
    socket.end('HTTP/1.1 403 No\r\ncontent-type: a\x00b\r\ncontent-length: 2\r\n\r\nno'),
  'refuses with a body that breaks off': (socket) => socket.end('HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\nshort'),
  'refuses with a length that is none': (socket) => socket.end('HTTP/1.1 500 No\r\ncontent-length: -1e9\r\n\r\nx'),
  'refuses with broken chunks': (socket) => socket.end('HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
  'refuses without end': (socket) => {
    socket.write('HTTP/1.1 500 No\r\n\r\n');
    flood(socket);
  },
  'switches and closes': (socket) => socket.end(SWITCHED),
  'switches and resets': (socket) => socket.write(SWITCHED, () => socket.resetAndDestroy()),
  'switches and ends in the middle of a frame': (socket) => socket.end(`${SWITCHED}\x82\x7f`),
  'switches and sends without end': (socket) => {
    socket.write(SWITCHED);
    flood(socket);
  },
  'switches and reads nothing': (socket) => {
    socket.write(SWITCHED);
    socket.pause();
    // A socket that is never read does not learn that it is closed.
    clock.setTimer(150, () => socket.resume());
  },
};

/** What a client does after its request. */
const clients: Readonly<Record<string, (socket: Socket) => unknown>> = {
  'that leaves at once': (socket) => socket.destroy(),
  'that resets when it is answered': (socket) => socket.once('data', () => socket.resetAndDestroy()),
  'that sends without end': (socket) => {
    flood(socket);
    socket.resume();
    clock.setTimer(50, () => socket.destroy());
  },
  'that ends its side and reads little': (socket) => {
    socket.end();
    socket.once('data', () => socket.destroy());
  },
};

const log = createMemoryLog();
const net = createNodeNet();
const open = new Set<Socket>();
let backend: Server;
let server: HttpServer;
let behave: (socket: Socket) => unknown = () => undefined;

before(async () => {
  backend = createServer({ allowHalfOpen: false }, (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.once('data', () => behave(socket));
  });
  await once(backend.listen(0, '127.0.0.1'), 'listening');
  const { port } = backend.address() as AddressInfo;
  server = await createListenHttp(log)({ host: '127.0.0.1', port: 0 }, ({ method, headers, signal }) =>
    openTunnel(net, { method, url: `http://127.0.0.1:${port}/exec`, headers, signal }),
  );
});
after(async () => {
  for (const socket of open) socket.destroy();
  backend.close();
  net.close();
  await server.close(0);
});

/** Opens a stream; resolves at its end. */
async function exchange(use: (socket: Socket) => unknown): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  let said = '';
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', () => undefined).on('data', (data) => (said = (said + data.toString('latin1')).slice(0, 1000)));
  socket.write(
    'POST /exec HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\ncontent-length: 0\r\n\r\n',
  );
  use(socket);
  await closed;
  return said;
}

async function allClosed(): Promise<void> {
  const closed = [...open].map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
  await Promise.all(closed);
}

const faults = (): unknown[] =>
  log.entries.filter(({ fields }) => fields['err'] instanceof TypeError || fields['err'] instanceof RangeError);

for (const [what, how] of Object.entries(backends))
  describe(`a backend that ${what}`, () => {
    for (const [who, use] of Object.entries(clients))
      test(`and a client ${who}: the stream ends alone`, async () => {
        behave = how;
        await exchange((socket) => {
          use(socket);
          // A client that gets no answer disconnects in the end.
          clock.setTimer(100, () => socket.destroy());
        });
        await allClosed();
        assert.deepEqual(faults(), []);
        behave = (socket) => {
          socket.write(`${SWITCHED}hello`);
          socket.once('data', () => socket.end('bye'));
        };
        const said = await exchange((socket) =>
          socket.on('data', (data) => String(data).includes('hello') && socket.write('x')),
        );
        assert.match(said, /^HTTP\/1\.1 101 [^]*hellobye$/);
        await allClosed();
      });
  });

test('a refusal of megabytes reaches its client whole', async () => {
  const length = 5 * 1024 * 1024;
  behave = (socket) => {
    socket.write(`HTTP/1.1 403 No\r\ncontent-type: text/plain\r\ncontent-length: ${length}\r\n\r\n`);
    socket.end(Buffer.alloc(length, 'x'));
  };
  let received = 0;
  await exchange((socket) => socket.on('data', (data) => (received += data.length)));
  assert.ok(received > length, String(received));
  await allClosed();
});
