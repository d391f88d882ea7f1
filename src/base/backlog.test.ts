import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backlog } from './backlog.ts';

function fixture() {
  const state = { nowMs: 0, ended: [] as string[] };
  const backlog = new Backlog(() => state.nowMs, { totalBytes: 100, stalledMs: 2000, stillMs: 60_000 });
  const reader = (name: string) => backlog.reader(() => void state.ended.push(name));
  return { state, backlog, reader };
}

test('a reader that reads nothing for a minute is given up; one that reads a little is not', () => {
  const { state, backlog, reader } = fixture();
  const [still, slow] = [reader('still'), reader('slow')];
  still.set(10);
  slow.set(10);
  for (const [nowMs, left] of [
    [30_000, 9],
    [59_000, 8],
    [61_000, 7],
  ] as const) {
    state.nowMs = nowMs;
    slow.set(left);
    backlog.check();
  }
  assert.deepEqual([state.ended, backlog.bytes], [['still'], 7]);
  slow.set(0);
  assert.equal(backlog.isEmpty, true);
});

test('more than the total ends those that stand still, the longest first, until the rest fits', () => {
  const { state, backlog, reader } = fixture();
  const readers = ['a', 'b', 'c', 'moving'].map((name) => reader(name));
  for (const [at, one] of readers.entries()) {
    state.nowMs = at * 100;
    one.set(40);
  }
  backlog.check();
  assert.deepEqual(state.ended, [], 'nobody stands still yet');
  state.nowMs = 3000;
  readers[3]!.set(39);
  backlog.check();
  assert.deepEqual([state.ended, backlog.bytes], [['a', 'b'], 79]);
});

test('reports about a reader that was given up are ignored', () => {
  const { state, backlog, reader } = fixture();
  const one = reader('one');
  one.set(200);
  state.nowMs = 3000;
  backlog.check();
  one.set(150);
  assert.deepEqual([state.ended, backlog.bytes, backlog.isEmpty], [['one'], 0, true]);
});

test('more data for a stalled reader is no progress', () => {
  const { state, backlog, reader } = fixture();
  const one = reader('one');
  for (state.nowMs = 0; state.nowMs < 61_000; state.nowMs += 10_000) {
    one.set(one.bytes + 1);
    backlog.check();
  }
  assert.deepEqual(state.ended, ['one']);
});

test('readers that all take a little hold twice the total at most: the largest go; one alone may hold more', () => {
  const { state, backlog, reader } = fixture();
  const readers = ['a', 'b', 'c', 'd'].map(reader);
  for (let round = 1; round < 5; round++) {
    state.nowMs += 1000;
    readers.forEach((one, at) => one.set(100 - at - round));
    backlog.check();
  }
  assert.deepEqual([state.ended, backlog.bytes <= 200], [['a', 'b'], true]);
  const alone = fixture();
  const one = alone.reader('one');
  one.set(1000);
  alone.state.nowMs += 1000;
  alone.backlog.check();
  assert.deepEqual(alone.state.ended, []);
});
