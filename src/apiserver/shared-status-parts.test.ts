/** Patches of sub-resources share unchanged values with the cached object, and must not write into it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalize } from '../api/codec/canonical.ts';
import { stringifyJson } from '../api/codec/json.ts';
import { isObject, type JsonObject } from '../api/codec/own-property.ts';
import { Pods } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import { apiVersionOf } from '../api/resource-info.ts';
import { type Draw, sampleStruct, seededDraw } from '../api/schema/sample-fixture.ts';
import type { StructSchema } from '../api/schema/type-schema.ts';
import { startWithAll } from './all-resources-fixture.ts';
import type { GenericStore } from './generic-registry/generic-store.ts';

const ROUNDS = 3;

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
}

type Loose = KubernetesObject & { readonly spec?: unknown; readonly status?: object };

/** An object as it is stored: in canonical shape, with its defaults. */
function storedSample({ info, schema, definition }: GenericStore, draw: Draw): Loose {
  const sample: JsonObject = sampleStruct(schema as StructSchema, draw);
  // The server sets missing times.
  if (isObject(sample['status']))
    sample['status'] = { ...sample['status'], conditions: [{ type: 'Any', status: 'True' }] };
  const metadata = { name: 'x', ...(info.namespaced && { namespace: 'default' }), uid: 'u', labels: { a: 'b' } };
  const object = canonicalize(schema, { ...sample, apiVersion: apiVersionOf(info), kind: info.kind, metadata });
  const draft = structuredClone(object) as unknown as KubernetesObject;
  definition.strategy.applyDefaults?.(draft);
  return canonicalize(schema, draft) as unknown as Loose;
}

function patchesOf(other: Loose): [type: string, patch: unknown][] {
  const { apiVersion, kind, spec, status = {} } = other;
  // Only one field of the spec changes.
  const part = isObject(spec) ? Object.fromEntries(Object.entries(spec).slice(0, 1)) : {};
  const merges = [{ metadata: { labels: { z: '1' } } }, { status }, { spec, status }, { spec: part }];
  return [
    ...['merge-patch+json', 'strategic-merge-patch+json'].flatMap((type) =>
      merges.map((patch): [string, unknown] => [type, patch]),
    ),
    ['json-patch+json', [{ op: 'add', path: '/metadata/labels', value: { z: '2' } }]],
    ['json-patch+json', [{ op: 'add', path: '/status', value: status }]],
    ['json-patch+json', [{ op: 'add', path: '/spec', value: spec }]],
    ['apply-patch+yaml', { apiVersion, kind, metadata: { labels: { y: '3' } }, status }],
    ['apply-patch+yaml', { apiVersion, kind, spec, status }],
  ];
}

test('no patch of a sub-resource changes the cached object, of any kind', async () => {
  const { send, storage } = await startWithAll();
  const draw = seededDraw(5);
  const faults: string[] = [];
  const kinds = new Set<string>();
  let taken = 0;
  for (const store of storage.registry.served) {
    const { info, definition } = store;
    const names = Object.keys(definition.objectSubresources ?? {}).filter((name) =>
      info.subresources.some((each) => each.name === name && each.verbs.includes('patch')),
    );
    if (names.length === 0 || info.kind === 'CustomResourceDefinition') continue;
    kinds.add(info.kind);
    const root = info.group === '' ? `/api/${info.version}` : `/apis/${apiVersionOf(info)}`;
    const path = `${root}${info.namespaced ? '/namespaces/default' : ''}/${info.resource}/x`;
    const key = store.keyOf({ namespace: info.namespaced ? 'default' : '', name: 'x' });
    for (let round = 0; round < ROUNDS; round++) {
      const value = Buffer.from(stringifyJson(storedSample(store, draw)));
      for (const name of names) {
        for (const [type, patch] of patchesOf(storedSample(store, draw))) {
          const before = await storage.store.get(key);
          const put = await storage.store.put({ key, value, expectRevision: before?.modRevision ?? 0 });
          assert.ok(put.ok);
          await storage.hub.waitFor(put.revision, 1000);
          const cell = store.cache.get(key);
          assert.ok(cell);
          deepFreeze(store.object(cell));
          const headers = { 'content-type': `application/${type}` };
          const query = 'fieldManager=m&force=true'.slice(0, type.startsWith('apply') ? undefined : 14);
          const { status, text } = await send('PATCH', `${path}/${name}?${query}`, stringifyJson(patch), headers);
          if (status === 200) taken++;
          // Upstream's response to a configuration with a duplicate item.
          const isUntyped = text.includes('"failed to create typed patch object');
          if (status >= 500 && !isUntyped)
            faults.push(`${info.kind} ${name} ${type} ${stringifyJson(patch)}: ${text}`.slice(0, 600));
        }
      }
    }
  }
  assert.ok(kinds.size > 20 && taken > 500, `${kinds.size} kinds, ${taken} patches`);
  assert.deepEqual(faults, []);
});

test('a status patch that speaks of the spec leaves the spec as it is', async () => {
  const { send, storage } = await startWithAll();
  const path = '/api/v1/namespaces/default/pods';
  const ports = [{ containerPort: 80 }];
  const spec = { containers: [{ name: 'c', image: 'i', ports }] };
  const { body: made } = await send('POST', path, { metadata: { name: 'p' }, spec });
  const type = { 'content-type': 'application/merge-patch+json' };
  const patched = await send('PATCH', `${path}/p/status`, { spec: { hostNetwork: true } }, type);
  assert.equal(patched.status, 200, patched.text);
  const store = storage.registry.known(Pods)!;
  const cell = store.cache.get(store.keyOf({ namespace: 'default', name: 'p' }))!;
  assert.deepEqual(store.object(cell), made);
});
