import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SortedKeys } from './sorted-keys.ts';

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

test('keeps thousands of keys in order through insertions and removals', () => {
  const keys = new SortedKeys(compare);
  const model = new Set<string>();
  for (let step = 0; step < 20_000; step++) {
    const key = String((step * 7919) % 5003).padStart(4, '0');
    if (step % 3 === 2) assert.equal(keys.delete(key), model.delete(key));
    else if (!model.has(key)) {
      keys.add(key);
      model.add(key);
    }
    // Now and then in between, so that some get their place one by one and some together.
    if (step % 1009 === 0) assert.deepEqual([...keys.range('', '~')], [...model].sort());
  }
  const sorted = [...model].sort();
  assert.deepEqual([...keys.range('', '~')], sorted);
  assert.deepEqual(
    [...keys.range('1000', '2000')],
    sorted.filter((key) => key >= '1000' && key < '2000'),
  );
  assert.deepEqual([...keys.range('5', '4')], []);
  keys.replace(sorted.toReversed());
  assert.deepEqual([...keys.range('', '~')], sorted);
  keys.add('1000a');
  assert.deepEqual([keys.delete('1000a'), keys.delete('1000a'), keys.delete('2000')], [true, false, model.has('2000')]);
});

test('keeps to its order where it is not that of code units', () => {
  const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  const keys = new SortedKeys(byBytes);
  const all = ['a', 'b', '\u{ffff}', '\u{1f600}', '\u{d7ff}', '\u{e000}a', 'a\u{10000}', 'a\u{fffd}'];
  for (const [index, key] of all.entries()) {
    keys.add(key);
    assert.deepEqual([...keys.range('', '\u{10ffff}')], all.slice(0, index + 1).sort(byBytes));
  }
  keys.replace(all.toReversed());
  assert.deepEqual([...keys.range('', '\u{10ffff}')], all.toSorted(byBytes));
  for (const key of all) assert.equal(keys.delete(key), true);
  assert.deepEqual([...keys.range('', '\u{10ffff}')], []);
});
