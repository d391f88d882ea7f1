/**
 * Valid objects whose lists and numbers are as large as the API server accepts: the whole cluster processes them and serves other
 * clients.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { before, describe, test } from 'node:test';
import { join } from 'node:path';
import { quickLoads } from './loads/all-loads.ts';
import type { LoadResult } from './loads/run-load.ts';

/** The limit of processor time in one turn, far above the aim, for busy machines. Work that multiplies takes far more. */
const MOST_IN_A_TURN_MS = 1000;
/** After this time the process ends itself and prints where it was. */
const LIMIT_MS = 600_000;

describe('loads of the largest valid objects', () => {
  const results = new Map<string, LoadResult>();
  let ending = '';
  before(async () => {
    const program = join(import.meta.dirname, 'loads/main.ts');
    const args = ['--conditions=keelson-source', '--expose-gc', program, '--quick', '--limit', String(LIMIT_MS)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stderr.on('data', (chunk: Buffer) => (ending = `${ending}${chunk.toString()}`.slice(-2000)));
    for await (const line of createInterface({ input: child.stdout })) {
      const result = JSON.parse(line) as LoadResult;
      results.set(result.name, result);
    }
  });

  for (const { name, mayBeRefused = false } of quickLoads)
    test(name, () => {
      const result = results.get(name);
      assert.ok(result !== undefined, `the process ended before this load did: ${ending}`);
      assert.equal(result.problem, undefined);
      assert.ok(result.served, 'a small Deployment beside it becomes available');
      if (!mayBeRefused) assert.deepEqual(result.refused, []);
      assert.ok(Math.max(result.sendMs, result.workMs) < MOST_IN_A_TURN_MS, JSON.stringify(result));
      assert.ok(result.heapMiB < 500, `${result.heapMiB} MiB are held after it`);
    });
});
