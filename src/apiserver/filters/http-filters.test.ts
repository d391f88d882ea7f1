import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpHandler, HttpRequest, HttpResponse } from '../../platform/http.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { type HttpFilters, withHttpFilters } from './http-filters.ts';

const off: HttpFilters = {
  corsAllowedOrigins: [],
  strictTransportSecurity: [],
  goawayChance: 0,
  refusesNew: () => false,
};
const handler: HttpHandler = ({ path }) => ({
  kind: 'bytes',
  status: 200,
  headers: { 'content-type': 'text/plain', ...(path === '/own' ? { 'access-control-allow-origin': 'mine' } : {}) },
  chunks: [],
});

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly origin?: string;
  readonly isHttp2?: boolean;
}

async function ask(more: Partial<HttpFilters>, { origin, ...asked }: Asked = {}) {
  const filtered = withHttpFilters(handler, { ...off, ...more }, createSeededRandom(1));
  const headers = origin === undefined ? {} : { origin };
  const request = { method: 'GET', path: '/api', query: '', headers, ...asked } as unknown as HttpRequest;
  return (await filtered(request)) as Extract<HttpResponse, { kind: 'bytes' }>;
}

test('CORS: matching origins are allowed, and their preflights need no credentials', async () => {
  const corsAllowedOrigins = ['^https://a\\.example$', '//b\\.example(:|$)'];
  const allowed = async (asked: Asked): Promise<unknown> =>
    (await ask({ corsAllowedOrigins }, asked)).headers['access-control-allow-origin'];
  assert.equal(await allowed({ origin: 'https://a.example' }), 'https://a.example');
  assert.equal(await allowed({ origin: 'http://b.example:8080' }), 'http://b.example:8080');
  assert.equal(await allowed({ origin: 'https://a.example.evil.com' }), undefined);
  assert.equal(await allowed({}), undefined);
  assert.equal(await allowed({ origin: 'https://a.example', path: '/own' }), 'mine');
  const preflight = await ask({ corsAllowedOrigins }, { origin: 'https://a.example', method: 'OPTIONS' });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers['access-control-allow-methods'], 'POST, GET, OPTIONS, PUT, DELETE, PATCH');
  assert.equal(preflight.headers['access-control-allow-credentials'], 'true');
  assert.match(String(preflight.headers['access-control-allow-headers']), /Authorization/);
  const refused = await ask({ corsAllowedOrigins }, { origin: 'https://c.example', method: 'OPTIONS' });
  assert.equal(refused.status, 200, 'the handler answers');
});

test('Strict-Transport-Security is sent with every response', async () => {
  const { headers } = await ask({ strictTransportSecurity: ['max-age=1', 'preload'] });
  assert.equal(headers['strict-transport-security'], 'max-age=1; preload');
  assert.equal((await ask({})).headers['strict-transport-security'], undefined);
});

test('connections are sent elsewhere as often as is set, those of HTTP/2 alone', async () => {
  const filtered = withHttpFilters(handler, { ...off, goawayChance: 0.02 }, createSeededRandom(7));
  let closed = 0;
  for (let i = 0; i < 5000; i++) {
    const request = { method: 'GET', path: '/', headers: {}, isHttp2: true } as unknown as HttpRequest;
    const answer = (await filtered(request)) as Extract<HttpResponse, { kind: 'bytes' }>;
    if (answer.headers['connection'] === 'close') closed++;
  }
  assert.ok(closed > 60 && closed < 150, `${closed} of 5000`);
  assert.equal((await ask({ goawayChance: 1 })).headers['connection'], undefined);
});

test('during shutdown new requests get Retry-After, except for health', async () => {
  const refusesNew = (): boolean => true;
  const { status, headers, chunks } = await ask({ refusesNew });
  assert.deepEqual([status, headers['retry-after'], headers['connection']], [429, '5', 'close']);
  assert.match(Buffer.concat(chunks).toString(), /"reason":"TooManyRequests"/);
  for (const path of ['/healthz', '/readyz/shutdown', '/livez'])
    assert.equal((await ask({ refusesNew }, { path })).status, 200);
  assert.equal((await ask({ refusesNew }, { path: '/healthzz' })).status, 429);
});
