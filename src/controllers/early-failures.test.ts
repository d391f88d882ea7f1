import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import { parseTime } from '../api/time.ts';
import { replacementWaitMs } from './early-failures.ts';

test('a pod that ended is replaced a second after its creation, and never later, whatever the clocks', () => {
  const pod = { metadata: { creationTimestamp: '2026-01-01T00:10:00Z' } } as Stored<Pod>;
  const createdMs = parseTime('2026-01-01T00:10:00Z');
  for (const [nowMs, waitMs] of [
    [createdMs, 1000],
    [createdMs + 400, 600],
    [createdMs + 5000, 0],
    [createdMs - 600_000, 1000],
  ] as const)
    assert.equal(replacementWaitMs(pod, nowMs), waitMs);
  assert.equal(replacementWaitMs({ metadata: {} } as Stored<Pod>, createdMs), 0);
});
