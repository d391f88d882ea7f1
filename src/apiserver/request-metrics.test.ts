import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryMetrics } from '../platform/sim/metrics.ts';
import { createAvailabilityMetrics } from './aggregation/availability-metrics.ts';
import { clientCertificateAuthenticator } from './authn/client-certificate.ts';
import { startTestServer } from './server-fixture.ts';

test('requests bear the verbs, scopes and times of upstream', async () => {
  const { send, server } = await startTestServer();
  const path = '/apis/apps/v1/namespaces/d/deployments';
  await send('POST', path, { metadata: { name: 'a' }, spec: {} });
  const got = await send('GET', `${path}/a`);
  await send('PUT', `${path}/a`, got.body);
  await send(
    'PATCH',
    `${path}/a`,
    { metadata: { labels: { a: 'b' } } },
    { 'content-type': 'application/merge-patch+json' },
  );
  const applied = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec: {} };
  await send('PATCH', `${path}/a?fieldManager=m`, applied, { 'content-type': 'application/apply-patch+yaml' });
  await send('GET', path);
  await send('GET', '/apis/apps/v1/deployments');
  await send('DELETE', `${path}/a`);
  const { text } = await send('GET', '/metrics');
  const cases: readonly (readonly [string, string, number])[] = [
    ['POST', 'resource', 201],
    ['GET', 'resource', 200],
    ['PUT', 'resource', 200],
    ['PATCH', 'resource', 200],
    ['APPLY', 'resource', 200],
    ['LIST', 'namespace', 200],
    ['LIST', 'cluster', 200],
    ['DELETE', 'resource', 200],
  ];
  for (const [verb, scope, code] of cases) {
    const labels = `component="apiserver",group="apps",resource="deployments",scope="${scope}",subresource="",verb="${verb}",version="v1"`;
    for (const line of [
      `apiserver_request_total{code="${code}",dry_run="",${labels}} 1`,
      `apiserver_request_duration_seconds_count{${labels}} 1`,
      `apiserver_request_sli_duration_seconds_count{${labels}} 1`,
      `apiserver_request_sli_duration_seconds_bucket{${labels},le="60"} 1`,
    ])
      assert.ok(text.includes(`${line}\n`), line);
  }
  assert.match(text, /kubernetes_build_info\{major="1",minor="36",git_version="v1\.36\.0[^"]*"/);
  await server.stop();
});

test('values that clients invent create no series', async () => {
  const { send, server } = await startTestServer();
  await send('POST', '/api/v1/namespaces/d/configmaps', { metadata: { name: 'a' } });
  const seriesNow = async (): Promise<number> => {
    const { text } = await send('GET', '/metrics');
    return [...text.matchAll(/^apiserver_request_duration_seconds_count/gm)].length;
  };
  const inventions = [
    (name: string) => ['GET', `/api/v1/namespaces/d/configmaps/a/${name}`],
    (name: string) => ['PUT', `/api/v1/nodes/${name}/${name}`],
    (name: string) => ['GET', `/api/v1/${name}`],
    (name: string) => ['GET', `/apis/${name}/v1/things`],
    (name: string) => ['GET', `/openapi/v3/${name}`],
    (name: string) => ['GET', `/openapi/v3/apis/${name}/v1`],
    (name: string) => ['GET', `/${name}`],
    (name: string) => ['GET', `/readyz/${name}`],
    (name: string) => [name.toUpperCase(), '/version'],
    (name: string) => [name.toUpperCase(), '/api/v1/namespaces/d/configmaps'],
    (name: string) => ['GET', `/api/v1/namespaces/${name}/configmaps?labelSelector=${name}`],
  ] as const;
  const ask = async (name: string): Promise<void> => {
    for (const invent of inventions) await send(invent(name)[0]!, invent(name)[1]!);
  };
  await ask('first');
  await seriesNow();
  const before = await seriesNow();
  for (const name of ['second', 'third', 'fourth']) await ask(name);
  assert.equal(await seriesNow(), before);
  await server.stop();
});

test('watches have no service level', async () => {
  const { send, server, request } = await startTestServer();
  const stop = new AbortController();
  const watch = request('GET', '/api/v1/configmaps?watch=true', { signal: stop.signal });
  await server.handler(watch);
  const { text } = await send('GET', '/metrics');
  assert.match(text, /apiserver_request_duration_seconds_count\{[^}]*verb="WATCH"/);
  assert.doesNotMatch(text, /apiserver_request_sli_duration_seconds_count\{[^}]*verb="WATCH"/);
  stop.abort();
  await server.stop();
});

test('authentication successes and failures, and the remaining lifetime of certificates', async () => {
  const authenticators = [clientCertificateAuthenticator];
  const { send, server, request, platform } = await startTestServer({ authenticators });
  const nowMs = platform.clock.nowMs();
  const from = (commonName: string, lastsSeconds: number) => ({
    principal: undefined,
    peerCertificate: {
      commonName,
      organizations: ['system:masters'],
      fingerprint256: 'f',
      expiresAtMs: nowMs + lastsSeconds * 1000,
    },
  });
  for (const parts of [from('kubelet', 100_000), from('eve@example.com', 1000), from('eve', 10)])
    await server.handler(request('GET', '/version', parts as never));
  await server.handler(request('GET', '/version', { principal: undefined } as never));
  const { text } = await send('GET', '/metrics');
  for (const line of [
    'authentication_attempts{result="success"} 3',
    'authentication_attempts{result="failure"} 1',
    'authenticated_user_requests{username="kubelet"} 1',
    'authenticated_user_requests{username="email_id"} 1',
    'authenticated_user_requests{username="other"} 1',
    'apiserver_client_certificate_expiration_seconds_bucket{le="0"} 0',
    'apiserver_client_certificate_expiration_seconds_bucket{le="1800"} 2',
    'apiserver_client_certificate_expiration_seconds_bucket{le="172800"} 3',
    'apiserver_client_certificate_expiration_seconds_count 3',
  ])
    assert.ok(text.includes(`${line}\n`), line);
  await server.stop();
});

test('unavailable aggregated APIs are reported, once per reason, until they are available or deleted', () => {
  const metrics = createMemoryMetrics();
  const availability = createAvailabilityMetrics(metrics);
  const name = 'v1.example.com';
  const lost = { available: false, reason: 'ServiceNotFound', message: '' };
  const now = (): number | undefined => metrics.value('aggregator_unavailable_apiservice', { name });
  const total = (): number | undefined =>
    metrics.value('aggregator_unavailable_apiservice_total', { name, reason: 'ServiceNotFound' });
  availability.note(name, lost);
  availability.note(name, lost);
  assert.deepEqual([now(), total()], [1, 1]);
  availability.note(name, { available: true, reason: 'Passed', message: '' });
  assert.deepEqual([now(), total()], [0, 1]);
  availability.note(name, lost);
  assert.deepEqual([now(), total()], [1, 2]);
  availability.gone(name);
  assert.equal(now(), undefined);
});

test('the series of a removed resource are deleted, others stay', async () => {
  const { send, server, storage } = await startTestServer();
  const seriesOf = async (resource: string): Promise<number> => {
    const { text } = await send('GET', '/metrics');
    return [...text.matchAll(new RegExp(`^apiserver_request_total\\{.*resource="${resource}"`, 'gm'))].length;
  };
  await send('GET', '/apis/apps/v1/deployments');
  await send('GET', '/apis/apps/v1/namespaces/d/deployments');
  await send('GET', '/api/v1/configmaps');
  await send('GET', '/version');
  assert.deepEqual([await seriesOf('deployments'), await seriesOf('configmaps')], [2, 1]);
  storage.registry.remove([{ group: 'apps', version: 'v1', resource: 'deployments' }]);
  assert.deepEqual([await seriesOf('deployments'), await seriesOf('configmaps')], [0, 1]);
  assert.ok((await seriesOf('')) > 0, 'what is no resource stays');
  await server.stop();
});
