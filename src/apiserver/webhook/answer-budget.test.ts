import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerBudget } from './answer-budget.ts';

const limits = { totalBytes: 100, ownBytes: 40, freeBytes: 5 };
const open = new AbortController().signal;

/** Whether the promise has settled once all that is due has run. */
async function isSettled(promise: Promise<void> | undefined): Promise<boolean> {
  let settled = promise === undefined;
  promise?.then(
    () => (settled = true),
    () => (settled = true),
  );
  await Promise.resolve();
  await Promise.resolve();
  return settled;
}

test('the first bytes of a response never wait', () => {
  const budget = new AnswerBudget(limits);
  for (let at = 0; at < 1000; at++) assert.equal(budget.enter(`h${at % 3}`, open).take(5), undefined);
  assert.equal(budget.bytes, 0);
});

test('one server has its share, and others go on beside it', async () => {
  const budget = new AnswerBudget(limits);
  const [first, second] = [budget.enter('a', open), budget.enter('a', open)];
  assert.equal(first.take(25), undefined);
  assert.equal(second.take(25), undefined);
  const waiting = second.take(1);
  assert.equal(await isSettled(waiting), false);
  assert.equal(budget.enter('b', open).take(30), undefined);
  first.end();
  assert.equal(await isSettled(waiting), true);
  assert.equal(budget.bytes, 21 + 25);
  second.end();
});

test('calls that hold all there is never wait for each other in a circle', async () => {
  const budget = new AnswerBudget(limits);
  const leases = Array.from({ length: 30 }, (_, at) => budget.enter(`h${at}`, open));
  const waits = leases.map((lease) => lease.take(20));
  // 100 bytes: six of 15, and the seventh waits.
  assert.equal(budget.bytes, 90);
  let ended = 0;
  for (const [at, lease] of leases.entries()) {
    await waits[at];
    await lease.take(20);
    assert.ok(budget.bytes <= 120, `${budget.bytes}`);
    lease.end();
    ended++;
  }
  assert.equal(ended, 30);
  assert.equal(budget.bytes, 0);
});

test('the oldest call of a server may exceed its share, so that one call ends', async () => {
  const budget = new AnswerBudget(limits);
  const other = budget.enter('b', open);
  assert.equal(other.take(10), undefined);
  const leases = Array.from({ length: 4 }, () => budget.enter('a', open));
  for (const lease of leases) assert.equal(lease.take(14), undefined);
  const waits = leases.map((lease) => lease.take(20));
  assert.deepEqual(await Promise.all(waits.map(isSettled)), [true, false, false, false]);
  leases[0]!.end();
  assert.deepEqual(await Promise.all(waits.slice(1).map(isSettled)), [true, false, false]);
});

test('a wait ends with its call, and its bytes are released', async () => {
  const budget = new AnswerBudget(limits);
  const first = budget.enter('a', open);
  assert.equal(first.take(45), undefined);
  const controller = new AbortController();
  const second = budget.enter('a', controller.signal);
  const wait = second.take(10);
  controller.abort(new Error('context deadline exceeded'));
  await assert.rejects(wait!, /context deadline exceeded/);
  await assert.rejects(second.take(1)!, /context deadline exceeded/);
  second.end();
  assert.equal(budget.bytes, 40);
  first.end();
  assert.equal(budget.bytes, 0);
});
