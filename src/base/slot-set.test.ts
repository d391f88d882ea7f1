import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapSpaceStatistics } from 'node:v8';
import { SlotSet } from './slot-set.ts';

test('members are iterated in the order of insertion, whatever their slots', () => {
  const set = new SlotSet<{ name: string }>();
  const slots = ['a', 'b', 'c'].map((name) => set.add({ name }));
  set.remove(slots[0]!);
  set.remove(slots[2]!);
  for (const name of ['d', 'e', 'f']) set.add({ name });
  assert.deepEqual(
    set.inOrder().map(({ name }) => name),
    ['b', 'd', 'e', 'f'],
  );
});

/** Moves all reachable objects into V8's old generation. */
function age(): object[] {
  const kept: object[] = [];
  for (let index = 0; index < 3_000_000; index++) kept[index % 100] = { index, next: [index] };
  return kept;
}

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')!.space_used_size;

test('an old set retains no removed members', () => {
  const set = new SlotSet();
  set.add({});
  age();
  const beforeBytes = oldBytes();
  for (let index = 0; index < 50_000; index++) set.remove(set.add({ body: Array.from({ length: 200 }, () => index) }));
  assert.ok(oldBytes() - beforeBytes < 1e6, `${oldBytes() - beforeBytes} bytes`);
});
