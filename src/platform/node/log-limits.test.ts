import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLineLimits } from './log-limits.ts';

test('a message that is repeated at will is written at a bounded rate, and the rest is counted', () => {
  let now = 0;
  const limits = createLineLimits(() => now);
  let written = 0;
  let counted = 0;
  for (let line = 0; line < 100_000; line++) {
    now = line / 10; // 10,000 lines a second
    const suppressed = limits.admit('authn', 'refused');
    if (suppressed === undefined) continue;
    written++;
    counted += suppressed;
  }
  assert.ok(written >= 290 && written <= 301, `${written} lines in 10 seconds`);
  assert.ok(written + counted > 99_000);
  assert.equal(limits.admit('authn', 'another message'), 0);
  assert.equal(limits.admit('kubelet', 'refused'), 0);
  now += 1000;
  assert.notEqual(limits.admit('authn', 'refused'), undefined);
});

test('messages beyond number are forgotten, not kept', () => {
  const limits = createLineLimits(() => 0);
  for (let at = 0; at < 5000; at++) assert.equal(limits.admit('a', `message ${at}`), 0);
});
