import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNodeEventLoop } from './event-loop.ts';

test('a loop that is held reports about how long', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const stop = createNodeEventLoop().onHalt((haltMs) => haltMs >= 300 && resolve(haltMs));
  const keptAlive = setInterval(() => undefined, 100); // the monitor itself keeps no process
  setTimeout(() => {
    const endMs = performance.now() + 400;
    while (performance.now() < endMs);
  }, 200);
  assert.ok((await promise) >= 300);
  clearInterval(keptAlive);
  stop();
});
