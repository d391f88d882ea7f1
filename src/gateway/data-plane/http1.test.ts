/**
 * HTTP/1.1 through the data plane over real sockets: the requests that backends receive and the responses that clients receive.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createNetServer, connect } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { atEnd, endAll, get, portOf, raw, route, startBackend, startPlane, turn } from './data-plane-fixture.ts';

afterEach(endAll);

/** A backend that returns the request it received. */
const echo = (): ReturnType<typeof startBackend> =>
  startBackend((message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const { method, url, rawHeaders } = message;
      response.setHeader('x-own', ['a', 'b']);
      response.end(JSON.stringify({ method, url, headers: message.headers, rawHeaders, body }));
    });
  });

const parsed = (text: string) =>
  JSON.parse(text) as {
    method: string;
    url: string;
    headers: Record<string, string>;
    rawHeaders: string[];
    body: string;
  };

describe('requests', () => {
  test('method, path, query, headers and body reach the backend, and its response the client', async () => {
    const [plane, b] = [await startPlane(), await echo()];
    await plane.serve([route()], { b });
    const { status, headers, body } = await get(plane.port, '/a%20b?x=1&x=2', {
      method: 'POST',
      headers: { host: 'web.example', 'x-mine': 'yes', cookie: 'a=1' },
      body: 'hello',
    });
    const got = parsed(body);
    assert.equal(status, 200);
    assert.deepEqual([got.method, got.url, got.body], ['POST', '/a%20b?x=1&x=2', 'hello']);
    assert.deepEqual(
      [got.headers['host'], got.headers['x-mine'], got.headers['cookie']],
      ['web.example', 'yes', 'a=1'],
    );
    assert.equal(headers['x-own'], 'a, b');
  });

  test('forwarding headers of clients are replaced, and connection headers are not forwarded', async () => {
    const [plane, b] = [await startPlane(), await echo()];
    await plane.serve([route()], { b });
    const { body } = await get(plane.port, '/', {
      headers: {
        host: 'web.example:8080',
        'x-forwarded-for': '6.6.6.6',
        'x-forwarded-proto': 'https',
        x_forwarded_for: '7.7.7.7',
        forwarded: 'for=6.6.6.6',
        'x-real-ip': '6.6.6.6',
        connection: 'close, x-hop, x-forwarded-host',
        'x-hop': '1',
        te: 'gzip',
        'proxy-authorization': 'secret',
      },
    });
    const { headers } = parsed(body);
    assert.deepEqual(
      Object.entries(headers).filter(([name]) => !['host', 'connection'].includes(name)),
      [
        ['x-forwarded-for', '127.0.0.1'],
        ['x-forwarded-proto', 'http'],
        ['x-forwarded-host', 'web.example:8080'],
        ['x-forwarded-port', String(plane.port)],
      ],
    );
  });

  const malformed: Readonly<Record<string, string>> = {
    'two hosts': 'GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n',
    'length and chunks':
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'two lengths': 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd',
    'a coding before chunked': 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'chunks in HTTP/1.0': 'POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'a bare line feed in a header': 'GET / HTTP/1.1\r\nhost: a\r\nx: a\nb: c\r\n\r\n',
    'a space before the colon': 'GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding : chunked\r\n\r\n',
    'no host': 'GET / HTTP/1.1\r\n\r\n',
    'a host that is none': 'GET / HTTP/1.1\r\nhost: a/b\r\n\r\n',
    'a host of very many labels': `GET / HTTP/1.1\r\nhost: ${'a.'.repeat(15_000)}a\r\n\r\n`,
    'an address of very many parts': `GET / HTTP/1.1\r\nhost: [${'1.'.repeat(15_000)}1]\r\n\r\n`,
    'a path above the root': 'GET /a/../../b HTTP/1.1\r\nhost: a\r\n\r\n',
    'a backslash': 'GET /a\\..\\b HTTP/1.1\r\nhost: a\r\n\r\n',
    'a fragment': 'GET /a#b HTTP/1.1\r\nhost: a\r\n\r\n',
    'a head without end': `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
  };
  for (const [what, text] of Object.entries(malformed))
    test(`refused: ${what}`, async () => {
      let count = 0;
      const plane = await startPlane();
      const b = await startBackend((_message, response) => {
        count++;
        response.end();
      });
      await plane.serve([route()], { b });
      const answer = await raw(plane.port, text.replace('\r\n', '\r\nconnection: close\r\n'));
      assert.match(answer, /^HTTP\/1\.1 4(00|31) /);
      assert.equal(count, 0);
    });

  test('paths are matched in the form that the backend receives', async () => {
    const [plane, b] = [await startPlane(), await echo()];
    const path = { type: 'prefix', value: '/public' } as const;
    await plane.serve([route({ path })], { b });
    assert.equal((await get(plane.port, '/public/../admin')).status, 404);
    assert.equal((await get(plane.port, '/public/%2e%2E/admin')).status, 404);
    assert.equal(parsed((await get(plane.port, '/public/a/./b/../c/')).body).url, '/public/a/c/');
    assert.equal(parsed((await get(plane.port, '/public/a%2Fb')).body).url, '/public/a%2Fb');
  });

  test('a target in absolute form names the host', async () => {
    const [plane, b] = [await startPlane(), await echo()];
    await plane.serve([route({ host: 'web.example' })], { b });
    const answer = await raw(
      plane.port,
      'GET http://web.example/x HTTP/1.1\r\nhost: other.example\r\nconnection: close\r\n\r\n',
    );
    assert.match(answer, /^HTTP\/1\.1 200/);
    assert.match(answer, /"host":"web\.example"/);
  });

  test('a missing route, a missing endpoint and an unreachable backend have their statuses', async () => {
    const plane = await startPlane();
    const gone = { protocol: 'http', endpoints: [{ address: '127.0.0.1', port: 1 }] } as const;
    await plane.serve(
      [
        route({ path: { type: 'exact', value: '/empty' }, backends: [{ backend: 'empty', weight: 1 }] }),
        route({ path: { type: 'exact', value: '/none' }, backends: [], emptyStatus: 500 }),
        route({ path: { type: 'exact', value: '/gone' }, backends: [{ backend: 'gone', weight: 1 }] }),
      ],
      { gone, empty: { protocol: 'http', endpoints: [] } },
    );
    const statuses = [];
    for (const path of ['/x', '/empty', '/none', '/gone']) statuses.push((await get(plane.port, path)).status);
    assert.deepEqual(statuses, [404, 503, 500, 502]);
  });

  test('after an unreachable endpoint the next one is tried, for every method', async () => {
    const [plane, b] = [await startPlane(), await echo()];
    const endpoints = [{ address: '127.0.0.1', port: 1 }, ...b.endpoints];
    await plane.serve([route()], { b: { protocol: 'http', endpoints } });
    for (let count = 0; count < 4; count++) {
      const { status, body } = await get(plane.port, '/', { method: 'POST', body: 'all of it' });
      assert.deepEqual([status, parsed(body).body], [200, 'all of it']);
    }
  });

  test('a connection that ended while it was idle does not fail a request', async () => {
    const plane = await startPlane();
    const b = await startBackend((_message, response) => response.end('ok'));
    await plane.serve([route()], { b });
    assert.equal((await get(plane.port, '/')).body, 'ok');
    b.server.closeAllConnections();
    assert.equal((await get(plane.port, '/')).body, 'ok');
  });

  test('requests are divided exactly by weight', async () => {
    const plane = await startPlane();
    const one = await startBackend((_message, response) => response.end('1'));
    const two = await startBackend((_message, response) => response.end('2'));
    const backends = [
      { backend: 'one', weight: 3 },
      { backend: 'two', weight: 1 },
      { backend: 'none', weight: 0 },
    ];
    await plane.serve([route({ backends })], { one, two });
    let text = '';
    for (let count = 0; count < 8; count++) text += (await get(plane.port, '/')).body;
    assert.equal([...text].filter((one) => one === '1').length, 6);
  });
});

describe('framing', () => {
  /** The requests that a backend received when a client sent one. */
  const smuggled = 'GET /admin HTTP/1.1\r\nHost: internal\r\nContent-Length: 0\r\n\r\n';
  const chunked = (head: string): string =>
    `${head}transfer-encoding: chunked\r\nconnection: close\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;

  for (const method of ['GET', 'DELETE', 'OPTIONS', 'POST'])
    test(`a backend never reads a body as the next request: ${method}`, async () => {
      const [plane, b] = [await startPlane(), await echo()];
      const seen: string[] = [];
      b.server.on('request', ({ method: got, url }) => seen.push(`${got} ${url}`));
      await plane.serve([route({ path: { type: 'prefix', value: '/public' } })], { b });
      const head = `${method} /public HTTP/1.1\r\nhost: a\r\nx-a: content-length\r\n`;
      const [, body = ''] = (await raw(plane.port, chunked(head))).split('\r\n\r\n');
      assert.equal((await get(plane.port, '/public/next')).status, 200);
      assert.deepEqual(seen, [`${method} /public`, 'GET /public/next']);
      assert.ok(body.includes(JSON.stringify(smuggled).slice(1, -1)));
    });

  test('a backend that switches protocols without a request causes an error at once', async () => {
    const plane = await startPlane();
    const b = await startBackend((_message, response) => {
      response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: x\r\n\r\n');
    });
    await plane.serve([route()], { b });
    assert.equal((await get(plane.port, '/')).status, 502);
  });
});

describe('connections', () => {
  test('a change of routes applies to the next request and does not affect a response in progress', async () => {
    const plane = await startPlane();
    let finish = (): void => undefined;
    const slow = await startBackend((_message, response) => {
      response.write('begun ');
      finish = () => response.end('and ended');
    });
    const other = await startBackend((_message, response) => response.end('other'));
    await plane.serve([route()], { b: slow });
    const socket = connect({ host: '127.0.0.1', port: plane.port });
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    while (!text.includes('begun')) await once(socket, 'data');
    await plane.serve([route()], { b: other });
    assert.equal((await get(plane.port, '/')).body, 'other');
    finish();
    while (!text.includes('and ended')) await once(socket, 'data');
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    await once(socket, 'end');
    assert.match(text, /other/);
  });

  test('a response that the backend cuts is cut for the client', async () => {
    const plane = await startPlane();
    const b = await startBackend((_message, response) => {
      response.write('half', () => response.destroy());
    });
    await plane.serve([route()], { b });
    const answer = await raw(plane.port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    assert.match(answer, /^HTTP\/1\.1 200 [^]*half/);
    assert.doesNotMatch(answer, /0\r\n\r\n$/);
  });

  test('a client that disconnects ends its request at the backend', async () => {
    const plane = await startPlane();
    let left: Promise<unknown> | undefined;
    const b = await startBackend((_message, response) => {
      left = once(response, 'close');
    });
    await plane.serve([route()], { b });
    const socket = connect({ host: '127.0.0.1', port: plane.port });
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    while (left === undefined) await turn();
    socket.destroy();
    await left;
  });

  test('a switched connection carries bytes and ends in both directions', async () => {
    const plane = await startPlane();
    const b = await startBackend(() => assert.fail('no plain request'));
    b.server.on('upgrade', (message, socket, head: Buffer) => {
      assert.equal(message.headers['x-forwarded-for'], '127.0.0.1');
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nx-own: 1\r\n\r\n');
      if (head.length > 0) socket.write(head);
      socket.pipe(socket);
    });
    await plane.serve([route()], { b });
    const head = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n';
    const socket = connect({ host: '127.0.0.1', port: plane.port, allowHalfOpen: true });
    socket.write(`${head}early `);
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    while (!text.includes('early')) await once(socket, 'data');
    assert.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
    assert.match(text, /x-own: 1/);
    socket.end('late');
    await once(socket, 'end');
    assert.match(text, /early late$/);
  });

  test('the response of a backend that refuses to switch is forwarded', async () => {
    const plane = await startPlane();
    const b = await startBackend((_message, response) => {
      response.statusCode = 403;
      response.end('no');
    });
    await plane.serve([route()], { b });
    const answer = await raw(
      plane.port,
      'GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n',
    );
    assert.match(answer, /^HTTP\/1\.1 403 Forbidden\r\n[^]*\r\n\r\nno$/);
  });

  test('an upgrade to cleartext HTTP/2 is ignored: the request is an ordinary one', async () => {
    const [plane, b] = [await startPlane(), await echo()];
    await plane.serve([route()], { b });
    const head =
      'GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade, HTTP2-Settings, close\r\nupgrade: h2c\r\nhttp2-settings: x\r\n\r\n';
    const answer = await raw(plane.port, head);
    assert.match(answer, /^HTTP\/1\.1 200/);
    assert.doesNotMatch(answer, /h2c/);
  });

  test('a port in use is reported, and opened once it is free', async () => {
    const plane = await startPlane();
    const holder = createNetServer();
    holder.listen(plane.port);
    await once(holder, 'listening');
    atEnd(() => holder.close());
    assert.equal(portOf(holder), plane.port);
    await plane.serve([route()], {});
    assert.deepEqual(plane.reports.at(-1)?.listeners, [{ port: plane.port, problem: 'EADDRINUSE' }]);
    holder.close();
    while (plane.reports.at(-1)?.listeners[0]?.problem !== undefined) await turn();
    assert.equal((await get(plane.port, '/')).status, 503);
  });

  test('snapshots while a port is in use add no further attempts to open it', async () => {
    const { clock } = createSimPlatform();
    const plane = await startPlane(clock);
    const holder = createNetServer();
    holder.listen(plane.port);
    await once(holder, 'listening');
    for (let count = 0; count < 5; count++) await plane.serve([route()], {});
    holder.close();
    await once(holder, 'close');
    const reported = plane.reports.length;
    await clock.advance(1000);
    while (plane.reports.length === reported) await turn();
    await turn();
    assert.deepEqual(
      plane.reports.slice(reported).map(({ listeners }) => listeners),
      [[{ port: plane.port }]],
    );
    assert.equal((await get(plane.port, '/')).status, 503);
  });
});
