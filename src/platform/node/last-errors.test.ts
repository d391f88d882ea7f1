import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LastErrors } from './last-errors.ts';

test('the last error of each component is kept with its count, the latest first', () => {
  let nowMs = 0;
  const errors = new LastErrors(() => nowMs);
  errors.add('scheduler.queue', 'cannot bind', new Error('gone'));
  nowMs = 1000;
  errors.add('kubelet', 'cannot sync', { message: 'no runtime' });
  nowMs = 2000;
  errors.add('scheduler', 'cannot list', undefined);
  assert.deepEqual(errors.list(), [
    { component: 'scheduler', count: 2, lastTime: '1970-01-01T00:00:02.000Z', message: 'cannot list' },
    { component: 'kubelet', count: 1, lastTime: '1970-01-01T00:00:01.000Z', message: 'cannot sync: no runtime' },
  ]);
});

test('neither many components nor long messages fill the memory', () => {
  const errors = new LastErrors(() => 0);
  for (let index = 0; index < 1000; index++) errors.add(`pod-${index}`, 'x'.repeat(10_000), undefined);
  assert.equal(errors.list().length, 100);
  assert.equal(errors.list()[0]?.message.length, 500);
  errors.add('pod-0', 'again', undefined);
  assert.equal(errors.list().find(({ component }) => component === 'pod-0')?.count, 2);
});
