import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringifyJson } from '../../api/codec/json.ts';
import { defined } from '../../base/defined-fixture.ts';
import { aborted } from '../../base/abort.ts';
import { createMemoryFiles } from '../../platform/sim/files.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { startTestServer, testPlatform } from '../server-fixture.ts';
import type { RequestScope } from '../request-scope.ts';
import { createAuditor } from './auditor.ts';
import { createDelivery } from './delivery.ts';
import type { AuditBackend, AuditEvent, AuditSink } from './event.ts';
import { createLogSink } from './log-sink.ts';
import { checkPolicy, decideAudit } from './policy.ts';
import { createWebhookSink } from './webhook-sink.ts';
import type { AuditDelivery } from '../options/audit-options.ts';

const policyOf = (value: object) => checkPolicy({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...value });

function scopeOf(verb: string, about: string, { user = 'ann', groups = ['devs'] } = {}): RequestScope {
  if (about.startsWith('/'))
    return { user: { name: user, groups }, info: { isResourceRequest: false, verb, path: about } } as never;
  const [where = '', what = '', name = ''] = about.split(' ');
  const [resource = '', subresource = ''] = what.split('/');
  const [plural = '', ...group] = resource.split('.');
  const info = {
    isResourceRequest: true,
    verb,
    namespace: where === '-' ? '' : where,
    resource: plural,
    apiGroup: group.join('.'),
    subresource,
    name,
  };
  return { user: { name: user, groups }, info } as never;
}

test('policy: what is left open in YAML is as good as left out', () => {
  const policy = policyOf({
    rules: [{ level: 'Metadata', users: null, resources: [{ group: null, resources: null }] }],
  });
  assert.equal(decideAudit(policy, scopeOf('get', 'x pods y')).level, 'Metadata');
});

test('policy: the first rule that fits decides', async (t) => {
  const policy = policyOf({
    omitStages: ['RequestReceived'],
    rules: [
      {
        level: 'None',
        users: ['system:kube-proxy'],
        verbs: ['watch'],
        resources: [{ group: '', resources: ['endpoints', 'services'] }],
      },
      {
        level: 'None',
        userGroups: ['system:nodes'],
        verbs: ['get'],
        resources: [{ group: '', resources: ['nodes/*'] }],
      },
      { level: 'None', nonResourceURLs: ['/healthz*', '/version'] },
      { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }], omitManagedFields: true },
      {
        level: 'Request',
        resources: [{ group: '', resources: ['configmaps'], resourceNames: ['x'] }],
        namespaces: ['kube-system'],
      },
      {
        level: 'RequestResponse',
        resources: [{ group: 'apps' }, { group: '', resources: ['*/scale'] }],
        omitStages: ['ResponseStarted'],
      },
      { level: 'Metadata', verbs: ['delete'] },
    ],
  });
  const rows: readonly [RequestScope, string][] = [
    [scopeOf('watch', 'ns endpoints', { user: 'system:kube-proxy' }), 'None'],
    [scopeOf('get', '- nodes/status n', { groups: ['system:nodes'] }), 'None'],
    [scopeOf('get', '/healthz/etcd'), 'None'],
    [scopeOf('get', 'ns secrets s'), 'Metadata'],
    [scopeOf('update', 'kube-system configmaps x'), 'Request'],
    [scopeOf('delete', 'kube-system configmaps y'), 'Metadata'],
    [scopeOf('create', 'ns deployments.apps'), 'RequestResponse'],
    [scopeOf('update', 'ns replicationcontrollers/scale r'), 'RequestResponse'],
    [scopeOf('get', 'ns pods p'), 'None'],
  ];
  for (const [scope, level] of rows)
    await t.test(`${scope.info.verb} ${scope.info.resource ?? scope.info.path}`, () =>
      assert.equal(decideAudit(policy, scope).level, level),
    );
  const { omitStages } = decideAudit(policy, scopeOf('create', 'ns deployments.apps'));
  assert.deepEqual(omitStages, ['RequestReceived', 'ResponseStarted']);
  assert.equal(decideAudit(policy, scopeOf('get', 'ns secrets s')).omitManagedFields, true);
});

const badPolicies: readonly [object, RegExp][] = [
  [{ rules: [] }, /0 rules/],
  [{ rules: [{ level: 'All' }] }, /rules\[0\].level: Unsupported value: "All"/],
  [{ rules: [{ level: 'None', user: ['x'] }] }, /unknown field "rules\[0\]\.user"/],
  [{ rules: [{ level: 'None', nonResourceURLs: ['/x'], namespaces: ['n'] }] }, /cannot apply to both/],
  [{ rules: [{ level: 'None' }], omitStages: ['Later'] }, /omitStages: Unsupported value: "Later"/],
  [{ kind: 'Pod', rules: [{ level: 'None' }] }, /must be audit.k8s.io\/v1 Policy/],
  [{ rules: [{ level: 'None', nonResourceURLs: [5] }] }, /rules\[0\]\.nonResourceURLs\[0\]: not a text/],
  [{ rules: [{ level: 'None', resources: ['pods'] }] }, /rules\[0\]\.resources\[0\]: not an object/],
  [{ rules: [{ level: 'None', resources: [{ name: 'x' }] }] }, /unknown field "rules\[0\]\.resources\[0\]\.name"/],
  [{ rules: [{ level: 'None' }], omitStage: ['RequestReceived'] }, /unknown field "omitStage"/],
  [{ omitStages: {}, rules: [{ level: 'None' }] }, /omitStages: not a list/],
];
for (const [value, message] of badPolicies)
  test(`policy refused: ${JSON.stringify(value)}`, () => void assert.throws(() => policyOf(value), message));

async function audited(level: string, more: object = {}, backends: readonly AuditBackend[] = []) {
  const events: AuditEvent[] = [];
  const platform = testPlatform();
  const auditor = createAuditor({
    policy: policyOf({ rules: [{ level, ...more }] }),
    backends: [{ write: (event) => void events.push(event), stop: async () => undefined }, ...backends],
    clock: platform.clock,
    random: createSeededRandom(1),
  });
  return { events, server: await startTestServer({ platform, auditor }) };
}

const MAPS = '/api/v1/namespaces/default/configmaps';

test('RequestResponse: both objects as they were, who and what, the verdict; audit ID in the answer', async () => {
  const { events, server } = await audited('RequestResponse', { omitManagedFields: true });
  const { headers } = await server.send('POST', `${MAPS}?dryRun=`, { metadata: { name: 'a' }, data: { k: 'v' } });
  assert.deepEqual(
    events.map(({ stage }) => stage),
    ['RequestReceived', 'ResponseComplete'],
  );
  const { requestObject, responseObject, ...event } = events[1]!;
  assert.deepEqual((requestObject as { data: object }).data, { k: 'v' });
  assert.equal((requestObject as { metadata: { uid?: string } }).metadata.uid, undefined);
  const made = responseObject as { metadata: { uid: string; managedFields?: unknown } };
  assert.match(made.metadata.uid, /^[-0-9a-f]{36}$/);
  assert.equal(made.metadata.managedFields, undefined);
  assert.equal(headers['audit-id'], event.auditID);
  assert.deepEqual(defined({ ...event, auditID: '', requestReceivedTimestamp: '', stageTimestamp: '' }), {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'RequestResponse',
    auditID: '',
    stage: 'ResponseComplete',
    requestURI: `${MAPS}?dryRun=`,
    verb: 'create',
    user: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
    sourceIPs: ['127.0.0.1'],
    userAgent: 'test/1.0',
    objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 201 },
    requestReceivedTimestamp: '',
    stageTimestamp: '',
    annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
  });
  await server.server.stop();
});

test('Metadata: no objects; refusals and their Status; impersonation; the ID a client brings', async () => {
  const { events, server } = await audited('Metadata', { omitStages: ['RequestReceived'] });
  const headers = { 'impersonate-user': 'bob', 'audit-id': 'mine' };
  await server.send('POST', MAPS, { metadata: { name: 'a' } }, headers);
  const [event] = events;
  assert.equal(event?.auditID, 'mine');
  assert.equal(event?.user.username, 'admin');
  assert.equal(event?.impersonatedUser?.username, 'bob');
  assert.deepEqual(event?.authenticationMetadata, { impersonationConstraint: 'impersonate:user-info' });
  assert.equal(event?.requestObject, undefined);
  assert.equal((event!.responseStatus as { reason?: string }).reason, 'Forbidden');
  assert.equal(event?.annotations?.['authorization.k8s.io/decision'], 'forbid');
  await server.server.stop();
});

test('a watch has a start and an end; a patch is told as it was sent', async () => {
  const { events, server } = await audited('Request', { omitStages: ['RequestReceived'] });
  await server.send('POST', MAPS, { metadata: { name: 'a' } });
  await server.send('PATCH', `${MAPS}/a`, { data: { x: 'y' } }, { 'content-type': 'application/merge-patch+json' });
  assert.deepEqual(events[1]?.requestObject, { data: { x: 'y' } });
  events.length = 0;
  const response = await server.server.handler(server.request('GET', `${MAPS}?watch=1`, { wantsObjects: true }));
  assert.deepEqual(
    events.map(({ stage }) => stage),
    ['ResponseStarted'],
  );
  assert.equal(response.kind, 'watch');
  for await (const _ of (response as { events: AsyncIterable<unknown> }).events) break;
  assert.deepEqual(
    events.map(({ stage }) => stage),
    ['ResponseStarted', 'ResponseComplete'],
  );
  await server.server.stop();
});

function eventOf(auditID: string): AuditEvent {
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID,
    stage: 'ResponseComplete',
    requestURI: '/x',
    verb: 'get',
    user: { username: 'ann', groups: ['g'] },
    requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
    stageTimestamp: '2026-01-01T00:00:00.000000Z',
  };
}

test('log: lines in order, a new file when the old is full, so many and so old ones kept', async () => {
  const clock = new VirtualClock();
  const files = createMemoryFiles({ nowMs: () => clock.nowMs() });
  await files.makeDir('/log');
  const options = { path: '/log/audit.log', format: 'json', maxAgeDays: 0, maxBackups: 2, maxSizeMib: 1 } as const;
  const log: AuditSink = createLogSink({ files, clock }, options);
  const large = 'x'.repeat(600 * 1024);
  for (const id of ['1', '2', '3', '4']) {
    await log.send([log.encode({ ...eventOf(id), userAgent: large })]);
    await clock.advance(1000);
  }
  await log.stop();
  const names = await files.readDir('/log');
  assert.equal(names.length, 3, names.join());
  assert.match(await files.readText('/log/audit.log'), /"auditID":"4"/);
  const backups = names.filter((name) => /^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/.test(name)).toSorted();
  assert.equal(backups.length, 2);
  assert.match(await files.readText(`/log/${backups[0]}`), /"auditID":"2"/);
});

test('log: the legacy format', async () => {
  const clock = new VirtualClock();
  const files = createMemoryFiles({ nowMs: () => clock.nowMs() });
  await files.makeDir('/log');
  const options = { path: '/log/a', format: 'legacy', maxAgeDays: 0, maxBackups: 0, maxSizeMib: 0 } as const;
  const log = createLogSink({ files, clock }, options);
  await log.send([log.encode(eventOf('1'))]);
  await log.stop();
  assert.equal(
    await files.readText('/log/a'),
    '2026-01-01T00:00:00.000000Z AUDIT: id="1" stage="ResponseComplete" ip="<unknown>" method="get" user="ann" groups="g" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/x" response="<deferred>"\n',
  );
});

function delivery(more: Partial<AuditDelivery>): AuditDelivery {
  const none = { throttleQps: 0, throttleBurst: 0, maxEventBytes: 0, maxBatchBytes: 0 };
  return { mode: 'blocking', maxBatchSize: 1, maxWaitMs: 0, bufferSize: 10, ...none, ...more };
}

/** A sink that keeps batches; while `fails` it loses them, while `holds` it takes none. */
function testSink() {
  const state = { batches: [] as AuditEvent[][], fails: false, gate: Promise.withResolvers<void>(), holds: false };
  const sink: AuditSink = {
    encode: (event) => Buffer.from(stringifyJson(event)),
    async send(events) {
      if (state.holds) await state.gate.promise;
      if (state.fails) throw new Error('disk full');
      state.batches.push(events.map((event) => JSON.parse(String(event)) as AuditEvent));
    },
    stop: async () => undefined,
  };
  return { state, sink };
}

const isSettled = async (promise: Promise<unknown>, clock: { settle(): Promise<void> }): Promise<boolean> => {
  let settled = false;
  void promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await clock.settle();
  return settled;
};

test('blocking: no answer before its event is out; what cannot be written is no matter, unless it is strict', async () => {
  for (const [mode, status] of [
    ['blocking', 201],
    ['blocking-strict', 500],
  ] as const) {
    const { state, sink } = testSink();
    const clock = new VirtualClock();
    const log = createMemoryLog();
    const backend = createDelivery({ sink, clock, log }, delivery({ mode }));
    const { server } = await audited('Metadata', {}, [backend]);
    state.holds = true;
    const first = server.send('POST', MAPS, { metadata: { name: 'a' } });
    assert.equal(await isSettled(first, clock), false);
    state.gate.resolve();
    assert.equal((await first).status, 201);
    assert.deepEqual(
      state.batches
        .flat()
        .filter(({ verb }) => verb === 'create')
        .map(({ stage }) => stage),
      ['RequestReceived', 'ResponseComplete'],
    );
    state.fails = true;
    const second = await server.send('POST', MAPS, { metadata: { name: 'b' } });
    assert.equal(second.status, status);
    if (status === 500) assert.match(JSON.stringify(second.body), /failed to store audit event/);
    assert.ok(log.entries.some(({ message }) => message === 'audit: an event is lost'));
    await server.server.stop();
  }
});

test('large events lose their objects, and batches are split', async () => {
  const { state, sink } = testSink();
  const clock = new VirtualClock();
  const log = createMemoryLog();
  const options = delivery({ mode: 'batch', maxBatchSize: 10, maxWaitMs: 10, maxEventBytes: 500, maxBatchBytes: 700 });
  const backend = createDelivery({ sink, clock, log }, options);
  const body = { data: 'x'.repeat(1000) };
  void backend.write({ ...eventOf('1'), requestObject: body, responseObject: body, annotations: { a: 'b' } });
  void backend.write({ ...eventOf('2'), requestURI: `/${'x'.repeat(600)}` });
  for (const id of ['3', '4', '5']) void backend.write(eventOf(id));
  await clock.advance(10);
  const [first] = state.batches[0]!;
  assert.deepEqual([first?.requestObject, first?.responseObject], [undefined, undefined]);
  assert.deepEqual(first?.annotations, { a: 'b', 'audit.k8s.io/truncated': 'true' });
  assert.deepEqual(
    state.batches.map((batch) => batch.map(({ auditID }) => auditID)),
    [
      ['1', '3'],
      ['4', '5'],
    ],
  );
  assert.ok(log.entries.some(({ message }) => message.includes('too large even without its objects')));
  await backend.stop();
});

test('what waits is bounded in bytes, and so is each batch: a webhook that is away costs no memory without end', async () => {
  const { state, sink } = testSink();
  const clock = new VirtualClock();
  const log = createMemoryLog();
  let encoded = 0;
  const counted: AuditSink = { ...sink, encode: (event) => (encoded++, sink.encode(event)) };
  const options = delivery({ mode: 'batch', maxBatchSize: 400, maxWaitMs: 30_000, bufferSize: 10_000 });
  const backend = createDelivery({ sink: counted, clock, log }, options);
  state.holds = true;
  const large = 'x'.repeat(1024 * 1024);
  for (let id = 0; id < 100; id++) void backend.write({ ...eventOf(String(id)), requestObject: { data: large } });
  await clock.settle();
  state.gate.resolve();
  state.holds = false;
  await clock.advance(30_000);
  const sizes = state.batches.map(({ length }) => length);
  assert.ok(Math.max(...sizes) <= 4, `${sizes}`);
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 68);
  assert.ok(log.entries.some(({ message }) => message === 'audit: events were dropped'));
  assert.equal(encoded, 100);
  // What comes later has room again.
  void backend.write(eventOf('later'));
  await backend.stop();
  assert.equal(state.batches.at(-1)?.at(-1)?.auditID, 'later');
});

test('batches: some at once, then so many a second', async () => {
  const { state, sink } = testSink();
  const clock = new VirtualClock();
  const options = delivery({ mode: 'batch', throttleQps: 10, throttleBurst: 2 });
  const backend = createDelivery({ sink, clock, log: createMemoryLog() }, options);
  for (const id of ['1', '2', '3', '4']) void backend.write(eventOf(id));
  await clock.settle();
  assert.equal(state.batches.length, 2);
  await clock.advance(100);
  assert.equal(state.batches.length, 3);
  await backend.stop();
  assert.equal(state.batches.length, 4);
});

test('webhook: full batches at once, others when they have waited; a failure is tried again, what is too much is dropped', async () => {
  const clock = new VirtualClock();
  const batches: string[][] = [];
  let failures = 0;
  const client = {
    post: async () => ({}),
    postUnanswered: async (_target: unknown, { body }: { body: Buffer }) => {
      if (failures-- > 0) throw new Error('down');
      batches.push((JSON.parse(String(body)) as { items: AuditEvent[] }).items.map(({ auditID }) => auditID));
    },
  };
  const sink = createWebhookSink({ client: client as never, target: {} as never, clock }, 100);
  const options = delivery({ mode: 'batch', maxBatchSize: 2, maxWaitMs: 1000, bufferSize: 3 });
  const backend = createDelivery({ sink, clock, log: createMemoryLog() }, options);
  for (const id of ['1', '2', '3']) void backend.write(eventOf(id));
  await clock.settle();
  assert.deepEqual(batches, [['1', '2'], ['3']]);
  void backend.write(eventOf('4'));
  await clock.advance(999);
  assert.equal(batches.length, 2);
  await clock.advance(1);
  assert.deepEqual(batches[2], ['4']);
  failures = 1;
  for (const id of ['5', '6', '7', '8', '9', '10']) void backend.write(eventOf(id));
  await clock.advance(100);
  assert.deepEqual(batches.slice(3).flat(), ['5', '6', '7', '8', '9']);
  await backend.stop();
});

test('webhook: its end waits for no retries, and not for long for an answer', async (t) => {
  for (const [what, answer, endMs] of [
    ['is down', () => Promise.reject(new Error('down')), 0],
    ['says nothing', (signal: AbortSignal) => aborted(signal).then(() => Promise.reject(new Error('cut'))), 10_000],
  ] as const)
    await t.test(`one that ${what}`, async () => {
      const clock = new VirtualClock();
      const log = createMemoryLog();
      let calls = 0;
      const client = {
        postUnanswered: (_target: unknown, { signal }: { signal: AbortSignal }) => {
          calls++;
          return answer(signal);
        },
      };
      const sink = createWebhookSink({ client: client as never, target: {} as never, clock }, 10_000);
      const backend = createDelivery({ sink, clock, log }, delivery({ mode: 'batch', maxBatchSize: 2 }));
      for (const id of ['1', '2', '3', '4', '5']) void backend.write(eventOf(id));
      await clock.settle();
      assert.equal(calls, 1);
      const startMs = clock.monotonicMs();
      await clock.drive(backend.stop());
      assert.equal(clock.monotonicMs() - startMs, endMs);
      const lost = log.entries.filter(({ message }) => message === 'audit: a batch is lost');
      assert.deepEqual([lost.length, lost[0]?.fields?.['lost']], [1, 5]);
      assert.deepEqual([calls <= 2, clock.pendingTimers], [true, 0]);
    });
});
