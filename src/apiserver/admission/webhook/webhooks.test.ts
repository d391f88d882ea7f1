import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTracer, type FinishedSpan } from '../../../component-helpers/tracing/tracer.ts';
import { createSeededRandom } from '../../../platform/sim/random.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { HOOK_ADDRESS, type HookSpec, patchResponse, startWithWebhooks } from './webhook-fixture.ts';
import { allow, map, MAPS } from './webhook-rules-fixture.ts';

test('a webhook may go on with the trace of the request', async () => {
  const ended: FinishedSpan[] = [];
  const random = createSeededRandom(1);
  const tracer = createTracer({ clock: new VirtualClock(), random, onEnd: (span) => ended.push(span) }, 1_000_000);
  const { configure, send, reviews } = await startWithWebhooks({ tracer });
  await configure({ name: 'x', answer: allow });
  await configure({ name: 'y', kind: 'Validating', answer: () => ({ allowed: false }) });
  ended.length = 0;
  await send('POST', MAPS, map('traced'));
  const names = ended.map(({ name, kind }) => `${kind} ${name}`);
  assert.deepEqual(names, [
    'client HTTP POST',
    'internal Call mutating webhook',
    'client HTTP POST',
    'internal Call validating webhook',
    'internal Create',
    'server POST /api/v1/namespaces/{:namespace}/configmaps',
  ]);
  const [post, call, , , create] = ended;
  assert.deepEqual([post?.parent, call?.parent], [call?.context, create?.context]);
  assert.equal(reviews[0]?.traceparent, `00-${post?.context.traceId}-${post?.context.spanId}-01`);
  assert.deepEqual([call?.attributes['configuration'], call?.attributes['webhook']], ['x', 'x.example.com']);
  assert.equal(call?.attributes['resource'], '/v1, Resource=configmaps');
});

test('without tracing a webhook is sent no trace', async () => {
  const { configure, send, reviews } = await startWithWebhooks();
  await configure({ name: 'x', answer: allow });
  await send('POST', MAPS, map('plain'), { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' });
  assert.equal(reviews[0]?.traceparent, undefined);
});

interface Case {
  readonly what: string;
  readonly spec: Omit<HookSpec, 'name'>;
  readonly query?: string;
  readonly status: number;
  readonly message?: string | RegExp;
}

const FAILED = 'Internal error occurred: failed calling webhook "x.example.com": ';

const cases: readonly Case[] = [
  { what: 'allowed', spec: { answer: allow }, status: 201 },
  {
    what: 'denied with a message and code',
    spec: { answer: () => ({ allowed: false, status: { message: 'no', code: 403, reason: 'Forbidden' } }) },
    status: 403,
    message: 'admission webhook "x.example.com" denied the request: no',
  },
  {
    what: 'denied with a reason only',
    spec: { kind: 'Validating', answer: () => ({ allowed: false, status: { reason: 'Because' } }) },
    status: 400,
    message: 'admission webhook "x.example.com" denied the request: Because',
  },
  {
    what: 'denied without a word, with a code of success',
    spec: { answer: () => ({ allowed: false, status: { code: 200, status: 'Success' } }) },
    status: 400,
    message: 'admission webhook "x.example.com" denied the request without explanation',
  },
  {
    what: 'an answer of another kind',
    spec: { answer: () => ({ kind: 'Pod', apiVersion: 'v1', response: { uid: 'x', allowed: true } }) },
    status: 500,
    message: `${FAILED}received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got v1, Kind=Pod`,
  },
  {
    what: 'an answer without response',
    spec: { answer: () => ({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' }) },
    status: 500,
    message: `${FAILED}received invalid webhook response: webhook response was absent`,
  },
  {
    what: 'another uid',
    spec: { answer: () => ({ uid: 'other', allowed: true }) },
    status: 500,
    message: /received invalid webhook response: expected response.uid="[-0-9a-f]{36}", got "other"$/,
  },
  {
    what: 'a validating webhook that patches',
    spec: { kind: 'Validating', answer: () => patchResponse() },
    status: 500,
    message: `${FAILED}received invalid webhook response: validating webhook may not return response.patch`,
  },
  {
    what: 'a patch without type',
    spec: { answer: () => ({ allowed: true, patch: 'W10=' }) },
    status: 500,
    message: `${FAILED}received invalid webhook response: webhook returned response.patch but not response.patchType`,
  },
  {
    what: 'a patch that does not fit',
    spec: { answer: () => patchResponse({ op: 'remove', path: '/data/zzz' }) },
    status: 500,
    message: /^Internal error occurred: .*nonexistent key: zzz/,
  },
  {
    what: 'a patch with more parts than objects may have',
    spec: { answer: () => patchResponse({ op: 'add', path: '/data', value: wide(40_000) }) },
    status: 500,
    message: /limit is 100000 fields, entries and items in one object$/,
  },
  {
    what: 'a patch longer than that of a client',
    spec: { answer: () => patchResponse({ op: 'add', path: '/data/x', value: 'x'.repeat(3 * 1024 * 1024) }) },
    status: 500,
    message: 'Internal error occurred: the patch has more than 3145728 characters',
  },
  {
    what: 'a large patch',
    spec: { answer: () => patchResponse({ op: 'add', path: '/data', value: wide(10_000) }) },
    status: 201,
  },
  {
    what: 'side effects in a dry run',
    spec: { answer: allow, hook: { sideEffects: 'NoneOnDryRun' } },
    query: '?dryRun=All',
    status: 201,
  },
  {
    what: 'a connection refused, failing closed',
    spec: { answer: allow, hook: { clientConfig: { url: 'https://10.0.0.8/x' } } },
    status: 500,
    message: `${FAILED}failed to call webhook: Post "https://10.0.0.8/x?timeout=10s": dial tcp 10.0.0.8:443: connect: connection refused`,
  },
  {
    what: 'a connection refused, failing open',
    spec: { answer: allow, hook: { clientConfig: { url: 'https://10.0.0.8/x' }, failurePolicy: 'Ignore' } },
    status: 201,
  },
  {
    what: 'a service that is not there',
    spec: { answer: allow, hook: { clientConfig: { service: { namespace: 'default', name: 'gone', path: '/x' } } } },
    status: 500,
    message: `${FAILED}failed to call webhook: Post "https://gone.default.svc:443/x?timeout=10s": service "gone" not found`,
  },
  {
    what: 'a CA bundle that is none',
    spec: { answer: allow, hook: { clientConfig: { url: `https://${HOOK_ADDRESS}/x`, caBundle: 'YWJj' } } },
    status: 500,
    message: `${FAILED}could not get REST client: unable to load root certificates: unable to parse bytes as PEM block`,
  },
];

function wide(keys: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, '']));
}

/** Responses with fields of wrong types, each otherwise valid. */
const wrongTypes: readonly object[] = [
  { allowed: 'true' },
  { allowed: 1 },
  { warnings: 5 },
  { warnings: 'text' },
  { warnings: [{}] },
  { auditAnnotations: [] },
  { auditAnnotations: { key: {} } },
  { auditAnnotations: 'text' },
  { status: 'no' },
  { status: { code: '403' } },
  { status: { code: 1e30 } },
  { status: { message: {} } },
  { status: { details: [] } },
  { status: { details: { causes: {} } } },
  { patch: 5 },
  { patchType: {} },
];

for (const kind of ['Mutating', 'Validating'] as const)
  test(`a ${kind.toLowerCase()} webhook's answer with fields of other types is a failed call`, async () => {
    for (const fields of wrongTypes) {
      const { configure, send, platform } = await startWithWebhooks();
      await configure({ kind, name: 'x', answer: () => ({ allowed: true, ...fields }) });
      const answer = await send('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } });
      assert.equal(answer.status, 500, JSON.stringify(fields));
      assert.match(
        answer.body.message,
        /failed calling webhook "x\.example\.com": received invalid webhook response: /,
      );
      assert.deepEqual(
        platform.log.entries.filter(({ level }) => level === 'error'),
        [],
      );
    }
  });

for (const { what, spec, query = '', status, message } of cases) {
  test(`webhook: ${what}`, async () => {
    const server = await startWithWebhooks();
    await server.configure({ name: 'x', ...spec });
    const answer = await server.send('POST', MAPS + query, map('a'));
    assert.equal(answer.status, status, answer.text);
    if (typeof message === 'string') assert.equal(answer.body.message, message);
    else if (message !== undefined) assert.match(answer.body.message, message);
    await server.server.stop();
  });
}

test('the answers of webhooks are counted and timed', async () => {
  const server = await startWithWebhooks();
  const { metrics, clock } = server.platform;
  const deny = () => ({ allowed: false, status: { code: 403 } });
  const nowhere = { clientConfig: { url: 'https://10.0.0.8/x' }, objectSelector: { matchLabels: { call: 'nowhere' } } };
  const denied = { objectSelector: { matchLabels: { deny: 'yes' } } };
  await server.configure({ name: 'yes', answer: allow });
  await server.configure({ name: 'no', kind: 'Validating', answer: deny, hook: denied });
  await server.configure({ name: 'open', answer: allow, hook: { ...nowhere, failurePolicy: 'Ignore' } });
  await server.configure({ name: 'shut', answer: allow, hook: nowhere });
  const post = (name: string, labels: object) => server.send('POST', MAPS, { metadata: { name, labels } });
  assert.deepEqual(
    [
      (await post('a', {})).status,
      (await post('b', { deny: 'yes' })).status,
      (await post('c', { call: 'nowhere' })).status,
    ],
    [201, 403, 500],
  );
  const of = (name: string, type: string) => ({ name: `${name}.example.com`, type });
  const prefix = 'apiserver_admission_webhook_';
  const count = (name: string, labels: Record<string, string>) => metrics.value(prefix + name, labels);
  const operation = 'CREATE';
  const served = { ...of('yes', 'admit'), operation, code: '200', rejected: 'false' };
  // In the order of names: a webhook that could not be called stopped the request before the third.
  assert.equal(count('request_total', served), 2);
  const refused = { ...of('no', 'validating'), operation, error_type: 'no_error', rejection_code: '403' };
  assert.equal(count('rejection_count', refused), 1);
  const failed = { ...of('shut', 'admit'), operation, error_type: 'calling_webhook_error', rejection_code: '0' };
  assert.equal(count('rejection_count', failed), 1);
  assert.equal(count('fail_open_count', of('open', 'admit')), 1);
  assert.equal(count('rejection_count', { ...failed, ...of('open', 'admit') }), undefined);

  await server.configure({ name: 'late', answer: () => undefined, hook: { timeoutSeconds: 2 } });
  const pending = post('d', {});
  await clock.advance(2001);
  assert.equal((await pending).status, 500);
  const timed = { ...of('late', 'admit'), operation, rejected: 'true' };
  assert.equal(metrics.sum(`${prefix}admission_duration_seconds`, timed), 2);
  await server.server.stop();
});

test('a webhook that does not answer before its timeout', async () => {
  const server = await startWithWebhooks();
  await server.configure({ name: 'x', answer: () => undefined, hook: { timeoutSeconds: 2 } });
  const pending = server.send('POST', MAPS, map('a'));
  await server.platform.clock.advance(2001);
  const { status, body } = await pending;
  assert.equal(status, 500);
  assert.equal(
    body.message,
    `${FAILED}failed to call webhook: Post "https://${HOOK_ADDRESS}/x?timeout=2s": context deadline exceeded`,
  );
  await server.server.stop();
});
