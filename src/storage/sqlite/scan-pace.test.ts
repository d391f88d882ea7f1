import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScanPace, createScanReader, PAGES_AHEAD } from './scan-pace.ts';

test('no more pages are on their way than may be', () => {
  const reader = createScanReader();
  let [sent, taken, waits, most] = [0, 0, 0, 0];
  const mayGo = createScanPace(reader.taken, () => {
    waits++;
    taken++;
    reader.take();
  });
  while (sent < 20) {
    assert.ok(mayGo());
    most = Math.max(most, ++sent - taken);
  }
  assert.deepEqual([most, waits], [PAGES_AHEAD, 20 - PAGES_AHEAD]);
});

test('a reader that has stopped is not awaited', () => {
  const reader = createScanReader();
  const mayGo = createScanPace(reader.taken, () => reader.stop());
  const gone = Array.from({ length: PAGES_AHEAD + 1 }, () => mayGo());
  assert.deepEqual(gone, [...Array.from({ length: PAGES_AHEAD }, () => true), false]);
});
