/** Who set the finalizers of an object that is being deleted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMaps } from '../api/gen/resources.ts';
import type { Evidence } from './evidence.ts';
import { finalizerCauses } from './finalizers.ts';

test('the managers of an object are read once, not for each of its finalizers', async () => {
  let reads = 0;
  const numbered = Array.from({ length: 1000 }, (_, at) => `example.com/f${at}`);
  const managedFields = numbered.map((finalizer, at) => ({
    manager: `m${at}`,
    get fieldsV1() {
      reads++;
      return { 'f:metadata': { 'f:finalizers': { '.': {}, [`v:"${finalizer}"`]: {} } } };
    },
  }));
  const metadata = {
    name: 'a',
    namespace: 'default',
    deletionTimestamp: '2026-01-01T00:00:00Z',
    finalizers: [...numbered, 'example.com/nobodys'],
    managedFields,
  };
  const causes = await finalizerCauses(ConfigMaps, { metadata }, {} as Evidence);
  assert.match(causes[999]?.message ?? '', /^finalizer example\.com\/f999, set by m999, has not been removed$/);
  assert.match(causes[1000]?.message ?? '', /^finalizer example\.com\/nobodys has not been removed$/);
  assert.equal(reads, 1000);
});
