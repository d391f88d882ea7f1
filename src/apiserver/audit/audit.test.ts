import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '../../base/defined-fixture.ts';
import { createMemoryFiles } from '../../platform/sim/files.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { RequestScope } from '../request-scope.ts';
import { audited, eventOf, MAPS, policyOf } from './audit-fixture.ts';
import type { AuditSink } from './event.ts';
import { createLogSink } from './log-sink.ts';
import { decideAudit } from './policy.ts';

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

test('policy: a null in YAML equals an absent field', () => {
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

test('no code of a sign-in is recorded', async () => {
  const { events, server } = await audited('RequestResponse');
  await server.send('GET', '/console/oidc/callback?code=secret&state=secret');
  assert.deepEqual(
    events.map(({ requestURI }) => requestURI),
    ['/console/oidc/callback', '/console/oidc/callback'],
  );
  assert.doesNotMatch(JSON.stringify(events), /secret/);
});

test('RequestResponse: both objects as sent, user and verb, the decision; audit ID in the response', async () => {
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

test('a watch has a start and an end; a patch is logged as it was sent', async () => {
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
