import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { plantTree } from '../planted-tree.ts';
import { repositoryRoot } from '../repository.ts';
import { closingText } from '../run-tests.ts';
import type { TestTotals } from './reporter.ts';
import { runAgain } from './second-run.ts';
import { stages, type Stage } from './stages.ts';

const files = ['a.test.ts', 'b.test.ts', 'c.test.ts', 'd.test.ts'];
const stage: Stage = { name: 'sim', commands: [], files, alone: (file) => ['alone', file] };
const totalsWith = (...failedFiles: string[]): TestTotals => {
  return { passed: 5, failed: failedFiles.length, skipped: 0, skips: [], failedFiles };
};

async function runsOf(totals: TestTotals | undefined, outcome: (file: string) => boolean, of: Stage = stage) {
  const ran: string[] = [];
  const again = await runAgain(of, totals, async (_file, args) => {
    ran.push(args.join(' '));
    return outcome(args.at(-1)!);
  });
  return { ran, again };
}

test('failed files that pass alone pass the stage, and are listed', async () => {
  const { ran, again } = await runsOf(totalsWith('a.test.ts', 'c.test.ts'), () => true);
  assert.deepEqual(ran, ['alone a.test.ts', 'alone c.test.ts']);
  assert.deepEqual([again?.outcome, again?.totals.passed, again?.totals.failed], ['passed', 7, 0]);
  assert.match(
    closingText([{ name: 'sim', durationMs: 1, ...again! }]),
    /\nfailed first and passed alone, so look for the cause:\n {2}a\.test\.ts\n {2}c\.test\.ts\n7 passed, 0 failed$/,
  );
});

test('a file that fails alone too fails the stage, and the others are not run', async () => {
  assert.deepEqual(await runsOf(totalsWith('a.test.ts', 'c.test.ts'), () => false), {
    ran: ['alone a.test.ts'],
    again: undefined,
  });
});

test('nothing is run again when many files failed, or when the failure belongs to no file', async () => {
  const nothing = { ran: [], again: undefined };
  assert.deepEqual(await runsOf(totalsWith(...files), () => true), nothing);
  assert.deepEqual(await runsOf(totalsWith(), () => true), nothing);
  assert.deepEqual(await runsOf(undefined, () => true), nothing);
  assert.deepEqual(await runsOf(totalsWith('unknown.test.ts'), () => true), nothing);
});

test('each stage of tests can run any of its files alone', () => {
  for (const { name, files: all, alone } of stages) {
    if (!all) continue;
    for (const file of all) assert.equal(alone!(file).at(-1), file, name);
  }
  const integration = stages.find(({ name }) => name === 'integration')!;
  assert.ok(integration.alone!('test/integration/pods.test.ts').includes('tools/run-tests/isolated.ts'));
  assert.ok(integration.alone!('test/control-plane/kills.test.ts').includes('tools/run-tests/shared.ts'));
});

test('files with errors outside of their tests are among the failed ones', () => {
  const good = "import { test } from 'node:test';\ntest('good', () => {});\n";
  using tree = plantTree({
    'a.test.mjs': good,
    'b.test.mjs': `import { test } from 'node:test';\ntest('leaks', async () => {
      setImmediate(() => { throw new Error('nobody caught this'); });
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    });\n`,
  });
  tree.write('c.test.mjs', `${good}throw new Error('no further');\n`);
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  for (const program of [
    ['isolated.ts', '2', '60000'],
    ['shared.ts', '60000'],
  ]) {
    const totals = join(tree.root, 'totals.json');
    const [name, ...args] = program;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [join(repositoryRoot, 'tools/run-tests', name!), ...args, 'a.test.mjs', 'b.test.mjs', 'c.test.mjs'],
      { cwd: tree.root, env: { ...env, KEELSON_TEST_TOTALS: totals }, encoding: 'utf8', timeout: 120_000 },
    );
    const { failedFiles } = JSON.parse(readFileSync(totals, 'utf8')) as TestTotals;
    assert.deepEqual(failedFiles, ['b.test.mjs', 'c.test.mjs'], `${name}: ${stdout}${stderr}`);
  }
});
