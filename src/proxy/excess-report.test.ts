import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { createExcessReport } from './excess-report.ts';

test('an object that is too large has one event while it is so, and another one when it is so again', () => {
  const { log } = createSimPlatform();
  const events: string[] = [];
  const recorder = {
    event: (...[, type, reason, message]: string[]) => void events.push(`${type} ${reason} ${message}`),
  };
  const report = createExcessReport({ log, recorder: recorder as never }, 'ServiceTooLarge');
  const object = { metadata: { name: 'a' } };
  for (const excess of ['9 parts', '9 parts', undefined, '9 parts', '8 parts']) report('ns/a', object, excess);
  report('ns/a', undefined, undefined);
  report('ns/a', object, '8 parts');
  const expected = ['9 parts', '9 parts', '8 parts', '8 parts'].map((excess) => `Warning ServiceTooLarge ${excess}`);
  assert.deepEqual(events, expected);
});
