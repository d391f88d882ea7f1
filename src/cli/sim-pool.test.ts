import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createSimPool } from './sim-pool.ts';

test('a run that blocks its thread fails, and the next run gets a new thread', async () => {
  const program = new URL('./endless-worker-fixture.ts', import.meta.url);
  const pool = createSimPool(1, { limitMs: 50, startThread: () => new Worker(program) });
  for (const seed of [1, 2]) {
    const { failure } = await pool.run('', seed);
    assert.equal(failure?.message, `seed ${seed}: no end after 0.05 s of real time: a loop that never waits`);
  }
  await pool.close();
});

test('a replaced thread gets no more work, even when its answer arrives late', async () => {
  const threads: EventEmitter[] = [];
  const startThread = () => {
    const number = threads.length;
    const thread = Object.assign(new EventEmitter(), {
      // The first thread is too slow; it answers only after a message with a negative id.
      postMessage: ({ id }: { id: number }) => number > 0 && thread.emit('message', { id, result: { seed: number } }),
      terminate: async () => 0,
    });
    threads.push(thread);
    return thread as unknown as Worker;
  };
  const pool = createSimPool(1, { limitMs: 50, startThread });
  assert.match((await pool.run('', 1)).failure?.message ?? '', /no end/);
  threads[0]!.emit('message', { id: 0 });
  threads[0]!.emit('error', new Error('terminated'));
  assert.deepEqual([(await pool.run('', 2)).result?.seed, threads.length], [1, 2]);
  await pool.close();
});
