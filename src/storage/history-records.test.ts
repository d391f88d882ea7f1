import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryRecord } from './history-record.ts';
import { HistoryRecords, newMemory } from './history-records.ts';
import { fromColumns } from './sqlite/history/columns.ts';
import { packColumns, packRecords, unpack } from './sqlite/history/packed-segment.ts';

const authorOf = (user: string) => ({ user, manager: 'm', verb: 'update', subresource: '' });

function record(revision: number, value: string, parts: Partial<HistoryRecord> = {}): HistoryRecord {
  const common = { key: `/registry/ü/${revision}`, timeMs: 1000 + revision, change: 'changed' } as const;
  return {
    ...common,
    revision,
    author: authorOf(`u${revision % 3}`),
    value: new Uint8Array(Buffer.from(value)),
    ...parts,
  };
}

const shapes: Readonly<Record<string, readonly HistoryRecord[]>> = {
  'none at all': [],
  'one without a value': [record(1, '', { change: 'deleted', author: undefined })],
  'values longer than the first memory': [
    record(1, 'a'.repeat(100_000)),
    record(2, 'b'.repeat(300_000)),
    record(3, 'c'),
  ],
  'keys and numbers longer than the room before the values': Array.from({ length: 3000 }, (_, at) =>
    record(at + 1, 'v'),
  ),
};

for (const [what, records] of Object.entries(shapes))
  test(`records read as they were added, and so does the segment of them: ${what}`, () => {
    for (const memory of [undefined, newMemory(0), Buffer.alloc(100_000, 7).buffer]) {
      const packed = new HistoryRecords(memory);
      for (const one of records) packed.add(one);
      assert.deepEqual([...packed], records);
      const segment = packRecords(packed);
      assert.equal(segment.records, records.length);
      const columns = unpack(Buffer.from(segment.bytes));
      assert.deepEqual(fromColumns(columns), records);
      assert.deepEqual(Buffer.from(packColumns(columns).bytes), Buffer.from(segment.bytes));
    }
  });

test('records seen after a time are taken out, and others are added in their place', () => {
  const packed = HistoryRecords.of([record(1, 'one'), record(2, 'two'), record(3, 'three', { timeMs: 5 })]);
  assert.deepEqual(packed.cutAfter(2000), []);
  assert.deepEqual(packed.cutAfter(Infinity), []);
  assert.deepEqual(packed.cutAfter(1001), [record(2, 'two'), record(3, 'three', { timeMs: 5 })]);
  packed.add(record(4, 'four'));
  assert.deepEqual([...packed], [record(1, 'one'), record(4, 'four')]);
  assert.equal(packed.valueBytes, 'onefour'.length);
});

test('an author is set for a change alone, not for the state before it, and never replaced by a late one', () => {
  const nobody = { author: undefined };
  const packed = HistoryRecords.of([
    record(1, '', { ...nobody, change: 'known' }),
    record(2, '', nobody),
    record(3, ''),
  ]);
  assert.equal(packed.noteAuthor(1, authorOf('of what was known')), false);
  assert.equal(packed.noteAuthor(9, authorOf('of another change')), false);
  packed.addAuthors((revision) => authorOf(`late ${revision}`));
  assert.deepEqual(
    [...packed].map(({ author }) => author?.user),
    [undefined, 'late 2', 'u0'],
  );
  assert.equal(packed.noteAuthor(2, authorOf('known now')), true);
  assert.equal([...packed][1]!.author?.user, 'known now');
});
