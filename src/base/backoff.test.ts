import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBackoff, KeyedBackoff } from './backoff.ts';

test('delays double up to the cap and start over on reset', () => {
  const backoff = createBackoff({ initialMs: 100, maxMs: 500 });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => backoff.nextMs()),
    [100, 200, 400, 500],
  );
  backoff.reset();
  assert.equal(backoff.nextMs(), 100);
});

test('jitter adds up to its share', () => {
  const backoff = createBackoff({ initialMs: 100, maxMs: 1000, jitter: 0.5 }, () => 0.5);
  assert.equal(backoff.nextMs(), 125);
});

test('per key: grows with failures, holds back, is forgotten after twice the maximum', () => {
  const backoff = new KeyedBackoff({ initialMs: 10_000, maxMs: 300_000 });
  assert.equal(backoff.isInBackoffSinceUpdate('a', 0), false);
  backoff.next('a', 0);
  assert.equal(backoff.getMs('a'), 10_000);
  assert.equal(backoff.isInBackoffSinceUpdate('a', 9_999), true);
  assert.equal(backoff.isInBackoffSinceUpdate('a', 10_000), false);
  backoff.next('a', 10_000);
  assert.equal(backoff.getMs('a'), 20_000);
  for (let step = 0; step < 10; step++) backoff.next('a', 20_000);
  assert.equal(backoff.getMs('a'), 300_000);
  backoff.next('a', 20_000 + 600_001);
  assert.equal(backoff.getMs('a'), 10_000);
  backoff.collect(620_001 + 600_000);
  assert.equal(backoff.size, 1);
  backoff.collect(620_001 + 600_001);
  assert.equal(backoff.size, 0);
});
