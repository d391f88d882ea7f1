/** Every scenario of this folder over twenty seeds, seeds that once failed first; each scenario's first seed runs twice. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createSimPool } from '../../src/cli/sim-pool.ts';
import { parseScenario } from '../../src/testing/scenario.ts';

const SEEDS = 20;
/** Explanations do not depend on the order of events: two seeds are enough. */
const SEEDS_OF_ANSWERS = 2;
const threads = Math.min(availableParallelism(), 4);
const pool = createSimPool(threads);
after(() => pool.close());

describe('scenarios', { concurrency: threads }, () => {
  for (const file of globSync(['*.yaml', 'why/*.yaml'], { cwd: import.meta.dirname }).sort()) {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8');
    const { name, regressions = [] } = parseScenario(text);
    it(`${basename(file, '.yaml')}: ${name}`, async () => {
      const seeds = [
        ...new Set([
          ...regressions,
          ...Array.from({ length: file.startsWith('why/') ? SEEDS_OF_ANSWERS : SEEDS }, (_, index) => index + 1),
        ]),
      ];
      const answers = await Promise.all(seeds.map((seed, index) => pool.run(text, seed, { twice: index === 0 })));
      const failures = answers.flatMap(({ failure }) => failure?.message ?? []);
      assert.equal(failures.length, 0, `${failures.length} of ${seeds.length} seeds failed; the first: ${failures[0]}`);
    });
  }
});
