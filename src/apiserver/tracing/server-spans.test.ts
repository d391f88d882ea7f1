import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTracer, type FinishedSpan } from '../../component-helpers/tracing/tracer.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { testPlatform, startTestServer } from '../server-fixture.ts';
import { readTracingConfiguration } from './read-tracing-configuration.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;
const PODS = '/api/v1/namespaces/default/pods';
const pod = { metadata: { name: 'web' }, spec: { containers: [{ name: 'web', image: 'web' }] } };

async function rig(samplingRatePerMillion: number) {
  const { clock } = testPlatform();
  const ended: FinishedSpan[] = [];
  const deps = { clock, random: createSeededRandom(1), onEnd: (span: FinishedSpan) => ended.push(span) };
  const server = await startTestServer({ tracer: createTracer(deps, samplingRatePerMillion) });
  return { ...server, ended, named: (name: string) => ended.filter((span) => span.name === name) };
}

test('a request has a span by its route, and its handler a child span with events', async () => {
  const { send, ended, named } = await rig(1_000_000);
  assert.equal((await send('POST', PODS, pod)).status, 201);
  assert.deepEqual(
    ended.map(({ name, kind }) => `${kind} ${name}`),
    ['internal Create', 'server POST /api/v1/namespaces/{:namespace}/pods'],
  );
  const [create, server] = ended;
  assert.deepEqual(create?.parent, server?.context);
  assert.deepEqual(
    create?.events.map(({ name }) => name),
    [
      'Conversion done',
      'About to store object in database',
      'Mutating admission done',
      'Defaults and validation done',
      'Validating admission done',
      'Write to database call succeeded',
      'Writing http response done',
    ],
  );
  assert.equal(server?.attributes['http.response.status_code'], 201);
  assert.equal(server.attributes['http.target'], PODS);
  await send('GET', `${PODS}/web`);
  await send('GET', `${PODS}?limit=1`);
  await send(
    'PATCH',
    `${PODS}/web`,
    { metadata: { labels: { a: 'b' } } },
    { 'content-type': 'application/merge-patch+json' },
  );
  await send('DELETE', `${PODS}/web`);
  await send('GET', '/version');
  assert.deepEqual(
    ended.slice(2).map(({ name }) => name),
    [
      'Get',
      'GET /api/v1/namespaces/{:namespace}/pods/{:name}',
      'List',
      'GET /api/v1/namespaces/{:namespace}/pods',
      'Patch',
      'PATCH /api/v1/namespaces/{:namespace}/pods/{:name}',
      'Delete',
      'DELETE /api/v1/namespaces/{:namespace}/pods/{:name}',
      'GET',
    ],
  );
  assert.equal(named('List')[0]?.attributes['scope'], 'namespace');
});

test('a span has no code of a sign-in', async () => {
  const { send, ended } = await rig(1_000_000);
  await send('GET', '/console/oidc/callback?code=secret&state=secret');
  assert.equal(ended.at(-1)?.attributes['http.target'], '/console/oidc/callback');
  assert.doesNotMatch(JSON.stringify(ended), /secret/);
});

test('a failed request ends its spans with the status', async () => {
  const { send, named } = await rig(1_000_000);
  await send('GET', `${PODS}/none`);
  const [get] = named('Get');
  assert.match(get?.error ?? '', /pods "none" not found/);
  const [server] = named('GET /api/v1/namespaces/{:namespace}/pods/{:name}');
  // By OpenTelemetry's conventions a 4xx is no error of a server span.
  assert.deepEqual([server?.attributes['http.response.status_code'], server?.error], [404, undefined]);
});

test('only trusted callers go on with their trace; of others the request begins one that names theirs', async () => {
  const { send, server, request, ended } = await rig(0);
  await send('GET', '/version', undefined, { traceparent: TRACEPARENT });
  assert.deepEqual([ended[0]?.context.traceId, ended[0]?.parent?.remote], [TRACE_ID, true]);
  await send('GET', '/version');
  const headers = { traceparent: TRACEPARENT };
  const principal = { name: 'jane', groups: ['system:authenticated'] };
  await server.handler(request('GET', '/version', { headers, principal }));
  assert.equal(ended.length, 1);
  const sampling = await rig(1_000_000);
  await sampling.server.handler(sampling.request('GET', '/version', { headers, principal }));
  const [own] = sampling.ended;
  assert.deepEqual([own?.parent, own?.link?.traceId], [undefined, TRACE_ID]);
  assert.notEqual(own?.context.traceId, TRACE_ID);
});

test('a TracingConfiguration is read strictly', () => {
  const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'TracingConfiguration' };
  assert.deepEqual(readTracingConfiguration({ ...head, endpoint: 'otel:4317', samplingRatePerMillion: 100 }), {
    endpoint: { url: 'http://otel:4317' },
    samplingRatePerMillion: 100,
  });
  assert.equal(
    readTracingConfiguration({ ...head, apiVersion: 'apiserver.config.k8s.io/v1beta1' }).samplingRatePerMillion,
    0,
  );
  const wrong: readonly [unknown, RegExp][] = [
    ['text', /not an object/],
    [{ ...head, kind: 'Other' }, /is not apiserver.config.k8s.io\/v1 TracingConfiguration/],
    [{ ...head, apiVersion: 'v1' }, /is not apiserver.config.k8s.io\/v1 TracingConfiguration/],
    [{ ...head, samplingRate: 1 }, /samplingRate/],
    [{ ...head, samplingRatePerMillion: '1' }, /samplingRatePerMillion: must be a whole number/],
    [{ ...head, samplingRatePerMillion: 1_000_001 }, /less than or equal to one million/],
    [{ ...head, endpoint: 7 }, /endpoint: must be a text/],
    [{ ...head, endpoint: 'http://otel:4317' }, /unsupported scheme: http/],
  ];
  for (const [value, message] of wrong) assert.throws(() => readTracingConfiguration(value), message);
});
