/** Pages of backends play the attacker: none of them may run as the API server's origin. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import type { HttpAnswer } from '../../platform/net.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { proxyRequest } from './http-proxy.ts';

interface Visit {
  readonly headers: Readonly<Record<string, string>>;
  readonly isolatesPages?: boolean;
  readonly peerCertificate?: ApiRequest['peerCertificate'];
  readonly answer?: Partial<HttpAnswer>;
}

const SEEN_AT = '/api/v1/namespaces/shop/services/evil/proxy';
const SANDBOX = 'sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts';

function visit({ headers, isolatesPages = true, peerCertificate, answer }: Visit): Promise<ApiResponse> {
  const { net } = createSimPlatform();
  const answering = {
    ...net,
    http: async (): Promise<HttpAnswer> => ({
      status: 200,
      headers: { 'content-type': 'text/html' },
      body: (async function* () {})(),
      cancel: () => undefined,
      ...answer,
    }),
  };
  const call = { net: answering, base: 'http://10.0.0.1', path: '/', tls: {}, seenAt: SEEN_AT, isolatesPages };
  return proxyRequest(call, {
    method: 'GET',
    path: `${SEEN_AT}/`,
    query: '',
    headers: { host: 'api', ...headers },
    remoteAddress: '192.0.2.1',
    wantsObjects: false,
    wantsUpgrade: false,
    ...(peerCertificate && { peerCertificate }),
    body: { kind: 'none' },
    signal: new AbortController().signal,
  });
}

async function policiesOf(one: Visit): Promise<unknown> {
  const answer = await visit(one);
  assert.ok(answer.kind === 'stream');
  return answer.headers['content-security-policy'];
}

const certificate = { commonName: 'admin', organizations: [], fingerprint256: '' };

const loads: readonly [string, Record<string, string>][] = [
  ...['document', 'iframe', 'frame', 'embed', 'object', 'worker', 'sharedworker', 'image', 'xslt', 'empty'].map(
    (dest): [string, Record<string, string>] => [dest, { 'sec-fetch-dest': dest }],
  ),
  ['a navigation', { 'sec-fetch-mode': 'navigate' }],
  ['a page of a browser without fetch metadata', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }],
  ['a page through a load balancer', { 'sec-fetch-dest': 'document', 'x-forwarded-for': '203.0.113.9' }],
];
for (const [name, headers] of loads)
  test(`${name} behind a proxy path runs in a sandbox`, async () => {
    assert.deepEqual(await policiesOf({ headers }), [SANDBOX]);
    assert.equal(await policiesOf({ headers, isolatesPages: false }), undefined, 'there is no console');
  });

test('a browser with a certificate gets the sandbox too', async () => {
  const headers = { 'sec-fetch-dest': 'document' };
  assert.deepEqual(await policiesOf({ headers, peerCertificate: certificate }), [SANDBOX]);
});

test('no header of the backend removes the sandbox, also not of errors and redirects', async () => {
  const headers = { 'sec-fetch-dest': 'iframe' };
  const policy = 'sandbox allow-same-origin allow-scripts';
  for (const status of [200, 302, 404, 500]) {
    const answer = { status, headers: { 'content-type': 'image/svg+xml', 'content-security-policy': policy } };
    assert.deepEqual(await policiesOf({ headers, answer }), [policy, SANDBOX], `${status}`);
  }
});

test('service workers are not loaded', async () => {
  const scripts: readonly Record<string, string>[] = [
    { 'service-worker': 'script' },
    { 'sec-fetch-dest': 'serviceworker' },
    { 'sec-fetch-mode': 'same-origin', 'service-worker': 'script' },
  ];
  for (const headers of scripts)
    await assert.rejects(visit({ headers }), { message: /service workers cannot be loaded/ });
});

test('clients other than browsers, and kubectl proxy, get the unchanged response', async () => {
  const navigation = { 'sec-fetch-dest': 'document', accept: 'text/html', 'x-forwarded-for': '127.0.0.1' };
  const asIs: readonly Visit[] = [
    { headers: { accept: '*/*' } },
    { headers: { accept: 'application/json, */*' }, peerCertificate: certificate },
    { headers: navigation, peerCertificate: certificate },
    { headers: { ...navigation, authorization: 'Bearer token' } },
  ];
  for (const one of asIs) assert.equal(await policiesOf(one), undefined);
});

test('headers of a backend that affect the whole origin are removed', async () => {
  const said = {
    'clear-site-data': '"cookies", "storage"',
    'strict-transport-security': 'max-age=31536000',
    'report-to': '{"endpoints":[{"url":"https://evil.example"}]}',
    nel: '{"report_to":"default"}',
    'alt-svc': 'h2="evil.example:443"',
    'accept-ch': 'Sec-CH-UA-Model',
    'set-login': 'logged-out',
  };
  const answer = { headers: { 'content-type': 'image/png', 'x-other': 'a', ...said } };
  const headersOf = async (one: Omit<Visit, 'answer'>): Promise<string[]> => {
    const visited = await visit({ ...one, answer });
    assert.ok(visited.kind === 'stream');
    return Object.keys(visited.headers).sort();
  };
  const kept = ['content-security-policy', 'content-type', 'x-other'];
  assert.deepEqual(await headersOf({ headers: { 'sec-fetch-dest': 'image' } }), kept);
  const all = [...Object.keys(said), 'content-type', 'x-other'].sort();
  assert.deepEqual(await headersOf({ headers: { 'sec-fetch-dest': 'image' }, isolatesPages: false }), all);
  assert.deepEqual(await headersOf({ headers: { accept: '*/*' } }), all, 'not a browser');
});
