/** The guard is tested in a separate thread: it cannot be removed again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

const guard = new URL('./virtual-clock-globals.ts', import.meta.url).href;

function evaluate(expression: string): Promise<unknown> {
  const source = `
    const { parentPort } = require('node:worker_threads');
    import(${JSON.stringify(guard)}).then(({ forbidGlobals }) => {
      forbidGlobals();
      try { parentPort.postMessage(String(${expression})); } catch (error) { parentPort.postMessage(error.name); }
    });`;
  return new Promise((resolve, reject) => {
    const worker = new Worker(source, { eval: true });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

for (const expression of [
  'Date.now()',
  'new Date()',
  'Date()',
  'Math.random()',
  'crypto.getRandomValues(new Uint8Array(1))',
  'performance.now()',
  'process.hrtime()',
  'process.uptime()',
  'performance.mark("x")',
  'crypto.randomUUID()',
  'setInterval(() => {}, 1)',
  'AbortSignal.timeout(1)',
  'new WebSocket("ws://127.0.0.1")',
  'setTimeout(() => {}, 1)',
  'setImmediate(() => {})',
  'fetch("http://127.0.0.1")',
]) {
  test(`${expression} throws in a simulation`, async () => {
    assert.equal(await evaluate(expression), 'ForbiddenGlobalError');
  });
}

test('a date of a given time is pure arithmetic', async () => {
  assert.equal(await evaluate('new Date(0).toISOString()'), '1970-01-01T00:00:00.000Z');
});
