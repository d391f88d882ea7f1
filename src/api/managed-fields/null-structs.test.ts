/** Comparisons and removals of fields that Go prints as null, with upstream's results. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalize } from '../codec/canonical.ts';
import { decodeTyped } from '../codec/typed.ts';
import type { JsonObject } from '../codec/own-property.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import { apiVersionOf } from '../resource-info.ts';
import { schemaOf } from '../schema/schema.ts';
import { apply } from './apply.ts';
import { trackUpdate } from './field-manager.ts';

type Step = readonly ['apply' | 'update', manager: string, body: JsonObject];

function ownersAfter([group, version, kind]: readonly [string, string, string], steps: readonly Step[]): unknown {
  const schema = schemaOf(group, version, kind)!;
  const apiVersion = apiVersionOf({ group, version });
  let live: JsonObject | undefined;
  for (const [operation, manager, body] of steps) {
    const request = { schema, apiVersion, time: '2024-01-01T00:00:00Z', manager };
    const { managedFields, uid } = (live?.['metadata'] ?? {}) as JsonObject;
    const metadata = { name: 'x', ...(operation === 'update' && { uid, managedFields }) };
    const object = { apiVersion, kind, metadata, ...body };
    if (operation === 'update') live = trackUpdate(live, canonicalize(schema, object), request);
    else {
      const result = apply(live, decodeTyped(schema, object, { shape: 'sparse' }).object, { ...request, force: true });
      assert.equal(result.kind, 'applied');
      live = result.kind === 'applied' ? result.object : live;
    }
    live = { ...live, metadata: { ...(live!['metadata'] as JsonObject), uid: 'u' } };
  }
  const entries = ((live!['metadata'] as JsonObject)['managedFields'] ?? []) as ManagedFieldsEntry[];
  return Object.fromEntries(entries.map(({ manager, operation, fieldsV1 }) => [`${manager} ${operation}`, fieldsV1]));
}

const POD_GROUP = ['scheduling.k8s.io', 'v1alpha2', 'PodGroup'] as const;

test('the nulls of an empty struct are owned when it replaces null', () => {
  assert.deepEqual(ownersAfter(POD_GROUP, [['update', 'n', { spec: { podGroupTemplateRef: {} } }]]), {
    'n Update': { 'f:spec': { 'f:podGroupTemplateRef': { 'f:workload': {} } } },
  });
});

test('null in place of a struct removes its fields from their owners, not the struct', () => {
  const steps: Step[] = [
    ['apply', 'm', { spec: { podGroupTemplateRef: {} } }],
    ['update', 'm', {}],
  ];
  assert.deepEqual(ownersAfter(POD_GROUP, steps), {
    'm Apply': { 'f:spec': { 'f:podGroupTemplateRef': {} } },
  });
});

test('a struct that keeps a null is not empty after its fields were removed', () => {
  const steps: Step[] = [
    ['apply', 'n', { series: { count: 81 } }],
    ['apply', 'n', { series: {} }],
  ];
  assert.deepEqual(ownersAfter(['events.k8s.io', 'v1', 'Event'], steps), { 'n Apply': { 'f:series': {} } });
});

test('a time that stays null has no owner', () => {
  const owners = ownersAfter(['', 'v1', 'Event'], [['update', 'n', { eventTime: null, message: 'a' }]]);
  assert.deepEqual(owners, { 'n Update': { 'f:message': {} } });
});

test('an object with a list that lacks keys loses its managed fields', () => {
  const serviceAccount = ['', 'v1', 'ServiceAccount'] as const;
  const named: Step = ['update', 'm', { secrets: [{ name: 'a' }] }];
  assert.deepEqual(ownersAfter(serviceAccount, [named, ['update', 'n', { secrets: [{}] }]]), {});
  assert.deepEqual(ownersAfter(serviceAccount, [['update', 'm', { secrets: [{}] }]]), {});
});
