/** The managed fields after updates that are no applies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalize } from '../codec/canonical.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import { trackUpdate } from './field-manager.ts';
import { fieldsOf } from './field-set.ts';
import { applyAs, common, config, deployment, ownedBy, specOf, updateAs } from './field-manager-fixture.ts';

test('an update owns the fields that it added or changed', () => {
  const created = updateAs(
    'a',
    undefined,
    config({ replicas: 1, template: { spec: { containers: [{ name: 'c', image: 'i' }] } } }, { labels: { x: 'y' } }),
  );
  assert.deepEqual(ownedBy(created, 'a').sort(), [
    '.metadata.labels',
    '.metadata.labels.x',
    '.spec.replicas',
    '.spec.template.spec.containers[name="c"]',
    '.spec.template.spec.containers[name="c"].image',
    '.spec.template.spec.containers[name="c"].name',
    '.spec.template.spec.containers[name="c"].resources',
  ]);
  const changed = updateAs('b', created, { ...created, spec: { ...specOf(created), replicas: 2 } });
  assert.deepEqual(ownedBy(changed, 'b'), ['.spec.replicas']);
  assert.equal(ownedBy(changed, 'a').includes('.spec.replicas'), false);
  const removed = updateAs('b', changed, { ...changed, metadata: { ...(changed['metadata'] as object), labels: {} } });
  assert.deepEqual(
    ownedBy(removed, 'a').filter((p) => p.startsWith('.metadata')),
    [],
  );
});

test('an update without changes keeps entries and times; reset fields are not owned', () => {
  const created = updateAs('a', undefined, config({ replicas: 1 }));
  const same = updateAs('b', created, created, { time: '2030-01-01T00:00:00Z' });
  assert.deepEqual(same['metadata'], created['metadata']);
  const status = updateAs('b', created, { ...created, status: { replicas: 3 } });
  assert.deepEqual(ownedBy(status, 'b'), []);
});

test('sub-resources are managers of their own', () => {
  const created = updateAs('a', undefined, config({ replicas: 1 }));
  const status = trackUpdate(
    created,
    { ...created, status: { replicas: 3 } },
    { ...common, manager: 'a', subresource: 'status', resetFields: fieldsOf('spec') },
  );
  const entries = (status['metadata'] as { managedFields: ManagedFieldsEntry[] }).managedFields;
  assert.deepEqual(
    entries.map((e) => [e.manager, e.subresource]),
    [
      ['a', undefined],
      ['a', 'status'],
    ],
  );
});

test('an object without managed fields has none until it is applied', () => {
  const live = canonicalize(deployment, config({ replicas: 1 }, { uid: 'x' }));
  const updated = updateAs('a', live, { ...live, spec: { ...specOf(live), replicas: 2 } });
  assert.equal('managedFields' in (updated['metadata'] as object), false);
  const result = applyAs('me', updated, config({ replicas: 3 }));
  assert.match(
    result.kind === 'conflict' ? result.message : '',
    /conflict with "before-first-apply" using apps\/v1.*: \.spec\.replicas/,
  );
});

test('managed fields sent by a client are accepted; one empty entry resets them', () => {
  const created = updateAs('a', undefined, config({ replicas: 1 }));
  const entries = (created['metadata'] as { managedFields: ManagedFieldsEntry[] }).managedFields;
  const renamed = updateAs('b', created, {
    ...created,
    metadata: { name: 'web', managedFields: entries.map((e) => ({ ...e, manager: 'z' })) },
  });
  assert.deepEqual(ownedBy(renamed, 'z'), ['.spec.replicas']);
  const reset = updateAs('b', created, { ...created, metadata: { name: 'web', managedFields: [{}] } });
  assert.equal('managedFields' in (reset['metadata'] as object), false);
});

test('at most ten updaters are kept: the oldest are merged', () => {
  let live = updateAs('m0', undefined, config({ replicas: 0 }));
  for (let i = 1; i < 15; i++) {
    const metadata = live['metadata'] as { labels?: object };
    const next = { ...live, metadata: { ...metadata, labels: { ...metadata.labels, [`l${i}`]: 'x' } } };
    live = updateAs(`m${i}`, live, next, { time: `2024-01-01T00:00:${10 + i}Z` });
  }
  const entries = (live['metadata'] as { managedFields: ManagedFieldsEntry[] }).managedFields;
  assert.equal(entries.length, 10);
  assert.ok(ownedBy(live, 'ancient-changes').includes('.spec.replicas'));
});

test('a created deployment has the managed fields that upstream records', () => {
  const labels = { app: 'web' };
  const container = {
    name: 'nginx',
    image: 'nginx',
    imagePullPolicy: 'Always',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  };
  const podSpec = {
    containers: [container],
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  };
  const created = updateAs(
    'kubectl-create',
    undefined,
    config(
      {
        replicas: 1,
        selector: { matchLabels: labels },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
        template: { metadata: { labels }, spec: podSpec },
      },
      { labels },
    ),
  );
  const [entry] = (created['metadata'] as { managedFields: ManagedFieldsEntry[] }).managedFields;
  const ownLabels = { 'f:labels': { '.': {}, 'f:app': {} } };
  assert.deepEqual(entry?.fieldsV1, {
    'f:metadata': ownLabels,
    'f:spec': {
      'f:replicas': {},
      'f:selector': {},
      'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {} }, 'f:type': {} },
      'f:template': {
        'f:metadata': ownLabels,
        'f:spec': {
          'f:containers': {
            'k:{"name":"nginx"}': {
              '.': {},
              'f:image': {},
              'f:imagePullPolicy': {},
              'f:name': {},
              'f:resources': {},
              'f:terminationMessagePath': {},
              'f:terminationMessagePolicy': {},
            },
          },
          'f:dnsPolicy': {},
          'f:restartPolicy': {},
          'f:securityContext': {},
          'f:terminationGracePeriodSeconds': {},
        },
      },
    },
  });
});
