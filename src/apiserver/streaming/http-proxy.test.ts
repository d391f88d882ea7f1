/** The headers that the proxy forwards from aggregated servers, and those it removes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '../../api/transport.ts';
import type { HttpCall } from '../../platform/net.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { proxyRequest } from './http-proxy.ts';

const request = (more: Partial<ApiRequest> = {}): ApiRequest => ({
  method: 'GET',
  path: '/apis/g/v1/things',
  query: '',
  headers: { host: 'api' },
  remoteAddress: '192.0.2.1',
  wantsObjects: false,
  wantsUpgrade: false,
  body: { kind: 'none' },
  signal: new AbortController().signal,
  ...more,
});

const REFUSED = 'the backend attempted to redirect this request, which is not permitted';

for (const status of [300, 301, 302, 303, 307, 308, 399])
  test(`a ${status} of an aggregated server is 502 where redirects are refused`, async () => {
    const { net } = createSimPlatform();
    let cancelled = 0;
    const answering = {
      ...net,
      http: async () => ({
        status,
        headers: { location: 'https://attacker.example/steal' },
        body: (async function* () {})(),
        cancel: () => void cancelled++,
      }),
    };
    const call = { net: answering, base: 'https://10.0.0.1', path: '/apis/g/v1/things', tls: {} };
    const answer = await proxyRequest({ ...call, rejectsRedirects: true }, request());
    assert.ok(answer.kind === 'bytes');
    assert.deepEqual([answer.status, answer.headers, Buffer.concat(answer.chunks).toString()], [502, {}, REFUSED]);
    assert.equal(cancelled, 1);
    const passed = await proxyRequest(call, request());
    assert.ok(passed.kind === 'stream');
    assert.deepEqual([passed.status, passed.headers['location']], [status, 'https://attacker.example/steal']);
  });

test('headers that the header Connection names are not forwarded', async () => {
  const { net } = createSimPlatform();
  const sent: HttpCall[] = [];
  const answering = {
    ...net,
    async http(call: HttpCall) {
      sent.push(call);
      return { status: 200, headers: {}, body: (async function* () {})(), cancel: () => undefined };
    },
  };
  const headers = { host: 'api', connection: 'close, X-Hop', 'x-hop': '1', 'x-end': '2' };
  await proxyRequest({ net: answering, base: 'https://10.0.0.1', path: '/', tls: {} }, request({ headers }));
  assert.deepEqual([sent[0]?.headers?.['x-hop'], sent[0]?.headers?.['x-end']], [undefined, '2']);
});

test('a redirect in the place of an upgrade is 502 as well, and the backend is left', async () => {
  const { net, clock } = createSimPlatform();
  let ended = false;
  net.listenRaw(80, (socket) => {
    void socket.closed.then(() => (ended = true));
    void socket.write('HTTP/1.1 302 Found\r\nLocation: https://attacker.example/\r\nContent-Length: 0\r\n\r\n');
  });
  const headers = { host: 'api', connection: 'Upgrade', upgrade: 'websocket' };
  const call = { net, base: 'http://127.0.0.1', path: '/', tls: {}, rejectsRedirects: true };
  const answer = await proxyRequest(call, request({ headers, wantsUpgrade: true }));
  assert.ok(answer.kind === 'bytes');
  assert.equal(answer.status, 502);
  await clock.settle();
  assert.equal(ended, true);
});

test('names of users are sent as UTF-8, and headers of the client cannot replace them', async () => {
  const { net } = createSimPlatform();
  let sent: HttpCall | undefined;
  const answering = {
    ...net,
    http: async (call: HttpCall) => {
      sent = call;
      return { status: 200, headers: {}, body: (async function* () {})(), cancel: () => undefined };
    },
  };
  const headers = { 'x-remote-user': ['jürgen€'] };
  const own = { host: 'api', 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' };
  await proxyRequest({ net: answering, base: 'https://b', path: '/', tls: {}, headers }, request({ headers: own }));
  assert.deepEqual(sent!.headers!['x-remote-user'], [Buffer.from('jürgen€', 'utf8').toString('latin1')]);
  assert.equal(sent!.headers!['x-remote-group'], undefined);
});
