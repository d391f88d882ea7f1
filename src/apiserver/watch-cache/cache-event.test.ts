import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CacheEvent, EventRing } from './cache-event.ts';
import { RevisionCell } from './revision-cell.ts';

function change(revision: number, bytes: number, atMs: number): CacheEvent {
  const cell = new RevisionCell('/registry/things/a', revision, Buffer.alloc(bytes));
  return { key: cell.key, revision, cell, previous: undefined, deleted: false, atMs, frames: undefined };
}

test('small changes stay whatever their age, large ones for as long as watches need to resume', () => {
  for (const [bytes, kept] of [
    [1_000, 200],
    [100_000, 20],
  ] as const) {
    const ring = new EventRing(0);
    for (let revision = 1; revision <= 200; revision++) ring.push(change(revision, bytes, 0));
    ring.forget(60_000);
    assert.equal(ring.after(0)?.length, 200, 'within 75 seconds all are there');
    ring.forget(80_000);
    assert.equal(ring.after(ring.since)?.length, kept);
  }
});
