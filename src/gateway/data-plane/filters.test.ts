/** Redirects, rewrites, header changes, mirrors and timeouts of the data plane. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { RouteFilters } from '../snapshot/snapshot.ts';
import { endAll, get, raw, route, startBackend, startPlane, turn } from './data-plane-fixture.ts';
import { redirectLocation, rewrittenTarget, type MatchedTarget } from './filters.ts';

afterEach(endAll);

describe('paths', () => {
  const cases: readonly (readonly [prefix: string, value: string, path: string, expected: string])[] = [
    ['/a', '/b', '/a', '/b'],
    ['/a', '/b', '/a/', '/b/'],
    ['/a', '/b', '/a/x', '/b/x'],
    ['/a', '/b/', '/a/x', '/b/x'],
    ['/a/', '/b', '/a/x', '/b/x'],
    ['/a', '', '/a/x', '/x'],
    ['/a', '/', '/a', '/'],
    ['/a', '/', '/a/', '/'],
    ['/', '/b', '/x', '/b/x'],
  ];
  for (const [prefix, value, path, expected] of cases)
    test(`prefix ${prefix} replaced by "${value}" gives ${expected} for ${path}`, () => {
      const filters = { rewrite: { path: { type: 'prefix', value } } } as const;
      const one = route({ path: { type: 'prefix', value: prefix } });
      assert.equal(rewrittenTarget(filters, one, { path, query: '?q' }), `${expected}?q`);
    });

  test('replacing the whole path keeps the query', () => {
    const filters = { rewrite: { path: { type: 'full', value: '/z' } } } as const;
    assert.equal(rewrittenTarget(filters, route(), { path: '/a/b', query: '?q=1' }), '/z?q=1');
  });
});

describe('redirects', () => {
  const target: MatchedTarget = {
    path: '/a/x',
    query: '?q',
    requestAuthority: 'web.example:8080',
    host: 'web.example',
    isTls: false,
    port: 8080,
  };
  const cases: readonly (readonly [
    redirect: Partial<NonNullable<RouteFilters['redirect']>>,
    expected: string,
    port?: number,
  ])[] = [
    [{}, 'http://web.example:8080/a/x?q'],
    [{}, 'http://web.example/a/x?q', 80],
    [{ scheme: 'https' }, 'https://web.example/a/x?q'],
    [{ scheme: 'https', port: 8443 }, 'https://web.example:8443/a/x?q'],
    [{ scheme: 'http', port: 80 }, 'http://web.example/a/x?q'],
    [{ hostname: 'other.example' }, 'http://other.example:8080/a/x?q'],
    [{ port: 443 }, 'http://web.example:443/a/x?q'],
    [{ path: { type: 'full', value: '/z' } }, 'http://web.example:8080/z?q'],
    [{ path: { type: 'prefix', value: '/b' } }, 'http://web.example:8080/b/x?q'],
  ];
  for (const [redirect, expected, port = 8080] of cases)
    test(`${JSON.stringify(redirect)} on port ${port} leads to ${expected}`, () => {
      const one = route({ path: { type: 'prefix', value: '/a' } });
      assert.equal(redirectLocation({ status: 302, ...redirect }, one, { ...target, port }), expected);
    });

  test('a redirect is a response with its own status and header changes', async () => {
    const plane = await startPlane();
    const redirect = { status: 308, scheme: 'https' } as const;
    const responseHeaders = { set: [['x-by', 'gateway']] } as const;
    await plane.serve([route({ backends: [], filters: { redirect, responseHeaders } })], {});
    const { status, headers, body } = await get(plane.port, '/x?y', {
      headers: { host: 'web.example' },
      method: 'POST',
      body: 'z',
    });
    assert.deepEqual(
      [status, headers.location, headers['x-by'], body],
      [308, 'https://web.example/x?y', 'gateway', ''],
    );
  });
});

test('headers are set, added and removed in both directions; a backend’s changes follow the rule’s', async () => {
  const plane = await startPlane();
  const b = await startBackend((message, response) => {
    response.setHeader('x-answer', 'backend');
    response.setHeader('x-gone', '1');
    response.end(JSON.stringify(message.headers));
  });
  const filters = {
    requestHeaders: { set: [['X-Set', 'rule']], add: [['x-add', '2']], remove: ['X-Gone'] },
    responseHeaders: { set: [['x-answer', 'rule']], remove: ['x-gone'] },
    rewrite: { hostname: 'inner.example' },
  } as const;
  const own = { requestHeaders: { set: [['x-set', 'backend']] } } as const;
  await plane.serve([route({ filters, backends: [{ backend: 'b', weight: 1, filters: own }] })], {
    b,
  });
  const { headers, body } = await get(plane.port, '/', {
    headers: { host: 'a.example', 'x-set': '0', 'x-add': '1', 'x-gone': '1' },
  });
  const got = JSON.parse(body) as Record<string, string>;
  assert.deepEqual(
    [got['x-set'], got['x-add'], got['x-gone'], got['host']],
    ['backend', '1, 2', undefined, 'inner.example'],
  );
  assert.deepEqual([got['x-forwarded-host'], headers['x-answer'], headers['x-gone']], ['a.example', 'rule', undefined]);
});

describe('filters in a snapshot that would change the framing are ignored', () => {
  const framing = ['content-length', 'transfer-encoding', 'connection', 'te', 'trailer', 'upgrade', 'expect', 'host'];
  const changes = [
    ...framing.flatMap((name) => [
      { set: [[name, '0']] } as const,
      { add: [[name.toUpperCase(), 'chunked']] } as const,
      { remove: [name] },
    ]),
    { set: [['x', 'y\r\ncontent-length: 0']] } as const,
    { set: [['x\r\ncontent-length: 0\r\ny', 'z']] } as const,
    { add: [['x', '\0'] as const] },
  ];
  const plain = 'host: a\r\nconnection: close\r\n';
  for (const change of changes)
    test(JSON.stringify(change), async () => {
      const plane = await startPlane();
      const [first, second] = ['GET /second HTTP/1.1\r\nhost: b\r\n\r\n', 'HTTP/1.1 299 x\r\n\r\n'];
      const seen: unknown[] = [];
      const b = await startBackend((message, response) => {
        let text = '';
        message.on('data', (chunk) => (text += String(chunk)));
        message.on('end', () => {
          seen.push([message.url, message.headers.host, text]);
          response.setHeader('content-length', second.length);
          response.end(second);
        });
      });
      await plane.serve([route({ filters: { requestHeaders: change, responseHeaders: change } })], { b });
      const answer = await raw(
        plane.port,
        `POST /x HTTP/1.1\r\n${plain}content-length: ${first.length}\r\n\r\n${first}`,
      );
      assert.deepEqual(seen, [['/x', 'a', first]]);
      const [head = '', ...body] = answer.split('\r\n\r\n');
      assert.match(head, new RegExp(`^HTTP/1.1 200 [^]*\\r\\ncontent-length: ${second.length}(\\r|$)`, 'i'));
      assert.equal(head.match(/content-length|transfer-encoding/gi)?.length, 1);
      assert.equal(body.join('\r\n\r\n'), second);
      const upgrade = await raw(plane.port, 'GET /x HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: y\r\n\r\n');
      assert.equal(upgrade.split('\r\n\r\n')[0]?.match(/content-length|transfer-encoding/gi)?.length, 1);
    });
});

test('a mirror receives a copy with the body, and its response has no effect', async () => {
  const plane = await startPlane();
  const copies: string[] = [];
  const b = await startBackend((message, response) => {
    message.resume();
    message.on('end', () => response.end('main'));
  });
  const m = await startBackend((message, response) => {
    let text = `${message.method} ${message.url} `;
    message.on('data', (chunk) => (text += String(chunk)));
    message.on('end', () => {
      copies.push(text);
      response.statusCode = 500;
      response.end('mirror');
    });
  });
  const gone = { protocol: 'http', endpoints: [{ address: '127.0.0.1', port: 1 }] } as const;
  const mirrors = [
    { backend: 'm', numerator: 1, denominator: 1 },
    { backend: 'gone', numerator: 1, denominator: 1 },
    { backend: 'm', numerator: 0, denominator: 100 },
  ];
  await plane.serve([route({ filters: { mirrors } })], { b, m, gone });
  const answer = await get(plane.port, '/x', { method: 'POST', body: 'copied' });
  assert.deepEqual([answer.status, answer.body], [200, 'main']);
  while (copies.length === 0) await turn();
  assert.deepEqual(copies, ['POST /x copied']);
});

test('a copy ends when its request is cut or has no backend', async () => {
  const plane = await startPlane();
  const gone = { protocol: 'http', endpoints: [{ address: '127.0.0.1', port: 1 }] } as const;
  const taking = await startBackend((message) => message.resume());
  for (const b of [gone, taking]) {
    const m = await startBackend((message) => message.resume());
    const arrived = once(m.server, 'request') as Promise<[IncomingMessage]>;
    const mirrors = [{ backend: 'm', numerator: 1, denominator: 1 }];
    await plane.serve([route({ filters: { mirrors } })], { b, m });
    const { client } = upload(plane.port);
    client.write('begun');
    if (b === taking) {
      const [copy] = await arrived;
      client.destroy();
      while (!copy.destroyed) await turn();
      assert.equal(copy.complete, false);
    } else {
      const [socket] = await Promise.race([arrived.then(([copy]) => [copy.socket]), once(m.server, 'connection')]);
      while (!socket.destroyed) await turn();
    }
  }
});

test('several mirrors receive their own shares', async () => {
  const plane = await startPlane();
  const counts = { half: 0, quarter: 0, all: 0 };
  const b = await startBackend((_message, response) => response.end());
  const counting = (name: keyof typeof counts) =>
    startBackend((_message, response) => {
      counts[name]++;
      response.end();
    });
  const backends = { b, half: await counting('half'), quarter: await counting('quarter'), all: await counting('all') };
  const mirrors = [
    { backend: 'half', numerator: 1, denominator: 2 },
    { backend: 'quarter', numerator: 25, denominator: 100 },
    { backend: 'all', numerator: 100, denominator: 100 },
  ];
  for (let round = 0; round < 4; round++) {
    await plane.serve([route({ filters: { mirrors } })], backends);
    for (let sent = 0; sent < 3; sent++) await get(plane.port, '/');
  }
  while (counts.half + counts.quarter + counts.all < 21) await turn();
  assert.deepEqual(counts, { half: 6, quarter: 3, all: 12 });
});

function upload(port: number): { client: ClientRequest; answer: Promise<IncomingMessage> } {
  const headers = { host: 'a', 'transfer-encoding': 'chunked' };
  const client = request({ host: '127.0.0.1', port, method: 'PUT', path: '/', headers, agent: false });
  client.on('error', () => undefined);
  const answer = new Promise<IncomingMessage>((resolve) => client.once('response', resolve));
  return { client, answer };
}

describe('timeouts', () => {
  test('a backend that does not begin its response in time causes 504, and its request is ended', async () => {
    const clock = new VirtualClock();
    const plane = await startPlane(clock);
    let left: Promise<unknown> | undefined;
    const b = await startBackend((_message, response) => {
      left = once(response, 'close');
    });
    await plane.serve([route({ responseTimeoutMs: 1_000 })], { b });
    const asked = get(plane.port, '/');
    while (left === undefined) await turn();
    await clock.advance(999);
    await clock.advance(1);
    assert.equal((await asked).status, 504);
    await left;
  });

  test('a body may take any time while it progresses; the response’s timeout begins at its end', async () => {
    const clock = new VirtualClock();
    const plane = await startPlane(clock);
    let received = 0;
    let isWhole = false;
    const b = await startBackend((message) => {
      message.on('data', (chunk: Buffer) => (received += chunk.length));
      message.on('end', () => (isWhole = true));
    });
    await plane.serve([route({ responseTimeoutMs: 5_000 })], { b });
    const { answer, client } = upload(plane.port);
    for (let sent = 1; sent <= 5; sent++) {
      client.write('x');
      while (received < sent) await turn();
      await clock.advance(59_000);
    }
    client.end();
    while (!isWhole) await turn();
    let isAnswered = false;
    client.once('response', () => (isAnswered = true));
    await clock.advance(4_999);
    await turn();
    assert.equal(isAnswered, false);
    await clock.advance(1);
    assert.equal((await answer).statusCode, 504);
  });

  test('a client that stops within a body gets 408; one whose response has begun may be silent', async () => {
    const clock = new VirtualClock();
    const plane = await startPlane(clock);
    let answerNow = false;
    let received = 0;
    const b = await startBackend((message, response) => {
      message.on('data', () => received++);
      message.on('end', () => response.end('whole'));
      if (answerNow) response.write('begun, ');
    });
    await plane.serve([route({ responseTimeoutMs: 5_000 })], { b });
    const stopped = upload(plane.port);
    stopped.client.write('x');
    while (received < 1) await turn();
    await clock.advance(60_000);
    assert.equal((await stopped.answer).statusCode, 408);
    stopped.client.destroy();
    answerNow = true;
    const streaming = upload(plane.port);
    streaming.client.write('x');
    const answer = await streaming.answer;
    await clock.advance(600_000);
    streaming.client.end();
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    assert.deepEqual([answer.statusCode, text], [200, 'begun, whole']);
  });

  test('a backend that does not respond to an upgrade in time causes 504, without retry', async () => {
    const clock = new VirtualClock();
    const plane = await startPlane(clock);
    let count = 0;
    const b = await startBackend(() => undefined);
    b.server.on('upgrade', () => count++);
    const lines = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
    for (const limit of [{ responseTimeoutMs: 1_000 }, { requestTimeoutMs: 1_000 }]) {
      await plane.serve([route(limit)], { b });
      const before = count;
      const answer = raw(plane.port, lines);
      while (count === before) await turn();
      await clock.advance(1_000);
      assert.match(await answer, /^HTTP\/1.1 504 Gateway Timeout/);
    }
    assert.equal(count, 2);
  });

  test('a request that takes too long is cut; the first limit does not apply to a response that began in time', async () => {
    const clock = new VirtualClock();
    const plane = await startPlane(clock);
    let finish = (): void => undefined;
    const b = await startBackend((_message, response) => {
      response.write('begun');
      finish = () => response.end(' ended');
    });
    const asked = async (): Promise<string> => {
      const socket = connect({ host: '127.0.0.1', port: plane.port });
      let text = '';
      socket.on('data', (chunk) => (text += String(chunk)));
      socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
      while (!text.includes('begun')) await turn();
      await clock.advance(1_000);
      finish();
      await once(socket, 'close');
      return text;
    };
    await plane.serve([route({ requestTimeoutMs: 1_000 })], { b });
    assert.doesNotMatch(await asked(), /ended|\r\n0\r\n/);
    await plane.serve([route({ responseTimeoutMs: 1_000 })], { b });
    assert.match(await asked(), / ended/);
  });
});
