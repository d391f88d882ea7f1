import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedMutex } from './keyed-mutex.ts';

test('one task per key at a time, in order; other keys run beside; failures release', async () => {
  const mutex = new KeyedMutex();
  const events: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = mutex.run('a', async () => {
    events.push('a1 start');
    await gate.promise;
    events.push('a1 end');
    throw new Error('boom');
  });
  const second = mutex.run('a', () => events.push('a2'));
  await mutex.run('b', () => events.push('b'));
  assert.equal(mutex.isBusy('a'), true);
  gate.resolve();
  await assert.rejects(first, /boom/);
  await second;
  assert.deepEqual(events, ['a1 start', 'b', 'a1 end', 'a2']);
  assert.equal(mutex.isBusy('a'), false);
});
