import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTime, parseTime } from './time.ts';
import { addInt64, minInt64, parseInt64, secondsToMs } from './int64.ts';

const MAX = 2n ** 63n - 1n;

test('a sum is a number where that is exact, and wraps at 64 bits', () => {
  assert.equal(addInt64(1, 1), 2);
  assert.equal(addInt64(Number.MAX_SAFE_INTEGER, 1), 2n ** 53n);
  assert.equal(addInt64(2n ** 53n, -1), Number.MAX_SAFE_INTEGER);
  assert.equal(addInt64(MAX, 1), -MAX - 1n);
});

test('seconds are converted to milliseconds, and wrap where nanoseconds exceed 64 bits', () => {
  assert.equal(secondsToMs(30), 30_000);
  assert.equal(secondsToMs(-1), -1000);
  assert.equal(secondsToMs(9_223_372_036), 9_223_372_036_000);
  assert.equal(secondsToMs(9_223_372_037), -9_223_372_036_709);
  assert.equal(secondsToMs(MAX), -1000);
});

test('now plus any int64 of seconds is a time that can be formatted', () => {
  for (const seconds of [MAX, -MAX - 1n, 2n ** 53n, Number.MAX_SAFE_INTEGER, 99_999_999_999])
    assert.ok(!Number.isNaN(parseTime(formatTime(1.8e12 + secondsToMs(seconds)))), `${seconds}`);
});

test('minInt64 compares numbers and bigints', () => {
  assert.equal([5, MAX, -3].reduce(minInt64), -3);
  assert.equal(minInt64(-MAX, 0), -MAX);
});

test('decimal digits are parsed up to the limits of int64', () => {
  assert.equal(parseInt64('+12'), 12);
  assert.deepEqual([parseInt64(`-${'0'.repeat(200)}7`), parseInt64('0'.repeat(101))], [-7, 0]);
  assert.equal(parseInt64(String(-MAX - 1n)), -MAX - 1n);
  for (const text of [String(MAX + 1n), '9'.repeat(1000)]) assert.equal(parseInt64(text), 'value out of range');
});
