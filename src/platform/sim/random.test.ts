import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom } from './random.ts';

test('a run repeats from its seed; forks depend on names alone', () => {
  const one = createSeededRandom(7);
  const two = createSeededRandom(7);
  assert.deepEqual(
    [one.next(), one.int(10), one.uuid(), one.nameSuffix(5)],
    [two.next(), two.int(10), two.uuid(), two.nameSuffix(5)],
  );
  two.next();
  assert.equal(one.fork('kubelet').uuid(), two.fork('kubelet').uuid());
  assert.notEqual(one.fork('kubelet').uuid(), one.fork('scheduler').uuid());
  assert.notEqual(createSeededRandom(7).next(), createSeededRandom(8).next());
});

test('values are in range and spread', () => {
  const random = createSeededRandom('spread');
  const counts = Array.from({ length: 10 }, () => 0);
  for (let draw = 0; draw < 10_000; draw++) counts[random.int(10)]!++;
  for (const count of counts) assert.ok(count > 850 && count < 1150, String(count));
  let sum = 0;
  for (let draw = 0; draw < 10_000; draw++) sum += random.next();
  assert.ok(Math.abs(sum / 10_000 - 0.5) < 0.02);
  assert.match(random.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.match(random.nameSuffix(20), /^[bcdfghjklmnpqrstvwxz2456789]{20}$/);
  assert.throws(() => random.int(0), RangeError);
});
