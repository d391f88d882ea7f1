/** Which manager made a change, where the history does not know its author. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ManagedFieldsEntry } from '../../api/gen/meta-v1.ts';
import type { HistoryRecord } from '../../storage/history-record.ts';
import { revisionEntry } from './revision-entry.ts';

const COUNT = 1000;

function objectOf(entries: readonly ManagedFieldsEntry[]): {
  metadata: { name: string; managedFields: ManagedFieldsEntry[] };
} {
  return { metadata: { name: 'a', managedFields: [...entries] } };
}

test('each manager is compared with itself before, not with all managers', () => {
  let reads = 0;
  const entries = (value: string): ManagedFieldsEntry[] =>
    Array.from({ length: COUNT }, (_, at) => ({
      get manager() {
        reads++;
        return `m${at}`;
      },
      operation: 'Apply',
      apiVersion: 'v1',
      fieldsV1: { [`f:${at === 7 ? value : 'a'}`]: {} },
    }));
  const record: HistoryRecord = { key: 'k', revision: 2, timeMs: 0, change: 'changed', value: new Uint8Array() };
  const entry = revisionEntry({ record, object: objectOf(entries('b')), before: objectOf(entries('c')) });
  assert.deepEqual([entry.manager, entry.verb], ['m7', 'apply']);
  assert.ok(reads <= 5 * COUNT, `${reads} reads`);
});
