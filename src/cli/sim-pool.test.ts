import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPool } from './sim-pool.ts';

test('a run that never lets go of its thread fails, and the next gets another thread', async () => {
  const program = new URL('./endless-worker-fixture.ts', import.meta.url);
  const pool = createSimPool(1, { limitMs: 50, program });
  for (const seed of [1, 2]) {
    const { failure } = await pool.run('', seed);
    assert.equal(failure?.message, `seed ${seed}: no end after 0.05 s of real time: a loop that never waits`);
  }
  await pool.close();
});
