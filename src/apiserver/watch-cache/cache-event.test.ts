import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CacheEvent, EventRing } from './cache-event.ts';
import { RevisionCell } from './revision-cell.ts';

/** One memory serves all of a size. */
const values = new Map<number, Buffer>();

function valueOf(bytes: number): Buffer {
  const known = values.get(bytes) ?? Buffer.alloc(bytes);
  values.set(bytes, known);
  return known;
}

function change(revision: number, bytes: number, atMs: number): CacheEvent {
  const cell = new RevisionCell('/registry/things/a', revision, valueOf(bytes));
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

test('at any rate of changes, the oldest beyond the byte limit are dropped, and the rest has no gap', () => {
  const bytes = 3 * 1024 * 1024;
  const ring = new EventRing(0);
  for (let revision = 1; revision <= 500; revision++) {
    ring.push(change(revision, bytes, 0));
    assert.ok(ring.bytes <= 128 * 1024 * 1024, `${ring.bytes} bytes are held`);
  }
  assert.equal(ring.after(0), undefined, 'who resumes from there has to list again');
  const left = ring.after(ring.since)!;
  assert.deepEqual([left.length, left[0]?.revision, left.at(-1)?.revision], [42, 459, 500]);
});

test('bytes to be forgotten may be more than there are', () => {
  const ring = new EventRing(0);
  ring.push(change(1, 10, 0));
  ring.forgetBytes(1000);
  assert.deepEqual([ring.bytes, ring.since, ring.after(1)], [0, 1, []]);
});
