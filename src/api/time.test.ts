import assert from 'node:assert/strict';
import { test } from 'node:test';

import { formatMicroTime, formatTime, parseTime } from './time.ts';

const wallTimes: readonly (readonly [iso: string, micro: string])[] = [
  ['2026-01-02T03:04:05.006Z', '2026-01-02T03:04:05.006000Z'],
  ['2026-01-02T03:04:05.999Z', '2026-01-02T03:04:05.999000Z'],
  ['2026-01-01T23:59:59.999Z', '2026-01-01T23:59:59.999000Z'],
  ['2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000000Z'],
  ['2024-02-29T12:00:00.000Z', '2024-02-29T12:00:00.000000Z'],
  ['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000000Z'],
  ['1969-12-31T23:59:58.500Z', '1969-12-31T23:59:58.500000Z'],
  ['0001-01-01T00:00:00.000Z', '0001-01-01T00:00:00.000000Z'],
];

test('a wall time is formatted as RFC 3339, whatever was formatted before', () => {
  for (const [iso, micro] of wallTimes) {
    const wallMs = parseTime(iso);
    assert.equal(formatTime(wallMs), `${iso.slice(0, 19)}Z`);
    assert.equal(formatMicroTime(wallMs), micro);
  }
});

test('fractions of milliseconds become microseconds', () => {
  assert.equal(formatMicroTime(parseTime('2026-01-02T03:04:05Z') + 0.25), '2026-01-02T03:04:05.000250Z');
});

test('invalid times are refused', () => {
  assert.throws(() => formatTime(Number.NaN), RangeError);
});
