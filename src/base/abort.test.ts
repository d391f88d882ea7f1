import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AbortCallbackError, onAbort } from './abort.ts';

test('callbacks are called once, in the order of registration, those that are left', () => {
  const controller = new AbortController();
  const called: string[] = [];
  const [first, second, third] = ['first', 'second', 'third'].map((name) => (): void => void called.push(name));
  onAbort(controller.signal, first!);
  const unhook = onAbort(controller.signal, second!);
  onAbort(controller.signal, third!);
  unhook();
  unhook();
  controller.abort();
  assert.deepEqual(called, ['first', 'third']);
});

test('a callback that is added twice runs once', () => {
  const controller = new AbortController();
  let calls = 0;
  const callback = (): void => void calls++;
  onAbort(controller.signal, callback);
  onAbort(controller.signal, callback);
  controller.abort();
  assert.equal(calls, 1);
});

test('a callback that throws does not stop the others, and its error is reported like that of a signal listener', async () => {
  const controller = new AbortController();
  const thrown = Promise.withResolvers<unknown>();
  const before = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.once('uncaughtException', thrown.resolve);
  let called = 0;
  onAbort(controller.signal, () => {
    throw new TypeError('broken');
  });
  onAbort(controller.signal, () => called++);
  controller.abort();
  const error = await thrown.promise;
  assert.ok(error instanceof AbortCallbackError);
  assert.equal((error.cause as Error).message, 'broken');
  for (const listener of before) process.on('uncaughtException', listener);
  assert.equal(called, 1);
});
