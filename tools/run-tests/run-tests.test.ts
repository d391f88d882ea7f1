import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { plantTree } from '../planted-tree.ts';
import { repositoryRoot } from '../repository.ts';
import { closingText, inGroups, sumTotals, type StageResult } from '../run-tests.ts';
import { slowestText } from './reporter.ts';
import { chooseStages, findTests, longest, stages } from './stages.ts';

const skip = { name: 'mounts', file: 'a.test.ts', reason: 'needs root' };
const results: StageResult[] = [
  { name: 'types', outcome: 'passed', durationMs: 1234 },
  {
    name: 'unit',
    outcome: 'passed',
    durationMs: 20_000,
    totals: { passed: 10, failed: 0, skipped: 1, skips: [skip], failedFiles: [] },
  },
  {
    name: 'sim',
    outcome: 'failed',
    durationMs: 500,
    totals: { passed: 3, failed: 2, skipped: 0, skips: [], failedFiles: ['a.test.ts'] },
  },
  { name: 'integration', outcome: 'not run', durationMs: 0 },
];

test('the closing lines list skipped tests with their reasons, and end with the totals on a line of their own', () => {
  assert.deepEqual(closingText(results).split('\n'), [
    '✓ types          1.2 s',
    '✓ unit          20.0 s  10 passed, 0 failed, 1 skipped',
    '✖ sim            0.5 s  3 passed, 2 failed, 0 skipped',
    '- integration  not run',
    'skipped:',
    '  needs root: mounts (a.test.ts)',
    '13 passed, 2 failed',
  ]);
});

test('a stage that fails without a failed test counts as one failure', () => {
  assert.deepEqual(sumTotals([{ name: 'lint', outcome: 'failed', durationMs: 1 }]), { passed: 0, failed: 1 });
});

test('stages run beside one another when both are selected', () => {
  const names = (...wanted: string[]) => inGroups(chooseStages(wanted)).map((group) => group.map(({ name }) => name));
  assert.deepEqual(names('unit', 'sim', 'console'), [['unit'], ['sim', 'console']]);
  assert.deepEqual(names('sim'), [['sim']]);
  assert.deepEqual(names('types', 'lint', 'layers', 'knip', 'build'), [
    ['types'],
    ['lint'],
    ['layers', 'knip', 'build'],
  ]);
});

test('stages are selected by name and keep their order', () => {
  const names = (wanted: string[]): string[] => chooseStages(wanted).map(({ name }) => name);
  assert.deepEqual(names([]), ['types', 'lint', 'layers', 'knip', 'build', 'unit', 'sim', 'console', 'integration']);
  assert.deepEqual(names(['unit', 'types']), ['types', 'unit']);
  assert.throws(() => chooseStages(['units']), /no stage "units"; there are: types, /);
});

test('the unit stage finds the tests of the tools, and an empty tree has none', () => {
  const { files } = stages.find(({ name }) => name === 'unit')!;
  assert.ok(files?.includes('tools/tar.test.ts') && files.includes('tools/bootstrap/bootstrap.test.mjs'));
  using tree = plantTree({});
  assert.deepEqual(findTests(['**/*.test.ts'], tree.root), []);
});

const GOOD = "import { test } from 'node:test';\ntest('good', () => {});\n";

test('processes that share the files of a stage run each of them once', () => {
  const { commands, files } = stages.find(({ name }) => name === 'unit')!;
  const given = commands.flatMap((command) => command.filter((argument) => /\.test\.(ts|mjs)$/.test(argument)));
  assert.deepEqual(given.toSorted(), files);
});

const isolated = join(repositoryRoot, 'tools/run-tests/isolated.ts');

test('files in separate processes run in the given order', () => {
  const file = (name: string) =>
    `import { appendFileSync } from 'node:fs';\n${GOOD}appendFileSync('order', '${name} ');\n`;
  using tree = plantTree({ 'a.test.mjs': file('a'), 'b.test.mjs': file('b'), 'c.test.mjs': file('c') });
  const { status, stdout } = runNode(tree.root, [isolated, '1', '60000', 'b.test.mjs', 'c.test.mjs', 'a.test.mjs']);
  assert.deepEqual([status, readFileSync(join(tree.root, 'order'), 'utf8')], [0, 'b c a '], stdout);
});

test('the listed longest files exist', () => {
  const files = stages.flatMap((stage) => stage.files ?? []);
  for (const file of Object.values(longest).flat()) assert.ok(files.includes(file), file);
});

test('processes that share files start with the longest, dealt out in turns', () => {
  const { commands } = stages.find(({ name }) => name === 'integration')!;
  const begins = commands.slice(1).map((command) => command.find((argument) => argument.endsWith('.test.ts')));
  assert.deepEqual(begins, longest.controlPlanes.slice(0, 2));
});

test('a stage of such files starts with the longest, and leaves none out', () => {
  for (const [stage, first] of [
    ['sim', longest.simulations],
    ['integration', longest.containers],
  ] as const) {
    const { commands, files } = stages.find(({ name }) => name === stage)!;
    const given = commands.map((command) => command.filter((argument) => argument.endsWith('.test.ts')));
    assert.deepEqual(given[0]?.slice(0, first.length), first);
    assert.deepEqual(given.flat().toSorted(), files?.toSorted());
  }
});

test('the reporter shows failures with the output of their file, hides the rest, and writes the totals', () => {
  const header = "import { describe, it, test } from 'node:test';\nimport assert from 'node:assert/strict';\n";
  using tree = plantTree({
    'good.test.mjs': `${header}console.log('noise of the good');\ntest('good', () => {});\ntest('later', { skip: true }, () => {});\n`,
    'bad.test.mjs': `${header}console.log('noise of the bad');\ndescribe('suite', () => { it('fails', () => assert.equal(1, 2)); });\n`,
  });
  tree.write('crash.test.mjs', "console.error('last words');\nthrow new Error('crashed');\n");
  const totals = join(tree.root, 'totals.json');
  const args = [isolated, '2', '60000', 'good.test.mjs', 'bad.test.mjs', 'crash.test.mjs'];
  const { stdout, status } = runNode(tree.root, args, { KEELSON_TEST_TOTALS: totals });
  assert.equal(status, 1);
  assert.deepEqual(JSON.parse(readFileSync(totals, 'utf8')), {
    passed: 1,
    failed: 2,
    skipped: 1,
    skips: [{ name: 'later', file: 'good.test.mjs', reason: 'no reason given' }],
    failedFiles: ['bad.test.mjs', 'crash.test.mjs'],
  });
  assert.match(stdout, /✖ fails \(.*bad\.test\.mjs:4\)/);
  assert.match(stdout, /1 !== 2/);
  assert.match(stdout, /noise of the bad/);
  assert.doesNotMatch(stdout, /noise of the good/);
  assert.match(stdout, /✖ crash\.test\.mjs [^]*last words/);
  assert.equal(stdout.match(/✖/g)?.length, 2, 'neither the suite nor the file is reported beside its test');
});

test('a single run lists each skipped test and suite by its reason', () => {
  const file = `import { describe, it, test } from 'node:test';
    test('one', { skip: 'needs root' }, () => {});
    test('two', (t) => t.skip('needs root'));
    describe('suite', { skip: 'needs etcd' }, () => { it('inside', () => {}); });
    test('three', () => {});\n`;
  using tree = plantTree({ 'a.test.mjs': file });
  for (const program of [
    [isolated, '1', '60000'],
    [join(repositoryRoot, 'tools/run-tests/shared.ts'), '60000'],
  ]) {
    const { stdout } = runNode(tree.root, [...program, 'a.test.mjs']);
    assert.match(
      stdout,
      /^skipped:\n  needs etcd: suite \(a\.test\.mjs\)\n  needs root: one \(a\.test\.mjs\); two \(a\.test\.mjs\)\n/m,
    );
  }
});

test('a run ends with its slowest files, the slowest first, without those that took moments', () => {
  const seconds = Array.from({ length: 14 }, (_, at) => [join(process.cwd(), `test/${at}.test.ts`), at] as const);
  const lines = slowestText(new Map(seconds)).split('\n');
  assert.deepEqual(lines.slice(0, 2), ['     13.0 s  test/13.test.ts', '     12.0 s  test/12.test.ts']);
  assert.deepEqual(lines.slice(-2), ['      5.0 s  test/5.test.ts', '']);
  assert.equal(slowestText(new Map(seconds.slice(0, 5))), '');
  assert.equal(slowestText(new Map(seconds.map(([file, at]) => [file, at + 100]))).split('\n').length, 11);
});

/** Runs node in the folder of the tree, without this test run's environment. */
function runNode(cwd: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const { NODE_TEST_CONTEXT: _context, KEELSON_TEST_TOTALS: _totals, ...env } = process.env;
  return spawnSync(process.execPath, args, { cwd, env: { ...env, ...more }, encoding: 'utf8', timeout: 120_000 });
}

test('an error outside of tests, or a file that fails halfway, fails a run of shared files and is shown', () => {
  using tree = plantTree({
    'leak.test.mjs': `import { test } from 'node:test';\ntest('passes', async () => {
      setImmediate(() => { throw new Error('nobody caught this'); });
      void Promise.reject(new Error('nobody awaits this'));
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    });\n`,
    'half.test.mjs': `${GOOD}throw new Error('no further');\n`,
    'good.test.mjs': GOOD,
  });
  const run = (file: string) =>
    runNode(tree.root, [join(repositoryRoot, 'tools/run-tests/shared.ts'), '60000', 'good.test.mjs', file]);
  assert.equal(run('good.test.mjs').status, 0);
  const { status, stdout, stderr } = run('leak.test.mjs');
  assert.equal(status, 1, stdout);
  assert.match(stderr, /nobody caught this[^]*leak\.test\.mjs/);
  assert.match(stderr, /nobody awaits this/);
  const half = run('half.test.mjs');
  assert.deepEqual(
    [half.status, /half\.test\.mjs failed while it was loaded: Error: no further/.test(half.stderr)],
    [1, true],
  );
});

test('a shared file that keeps its process alive fails the run, which names the file and the handle', () => {
  using tree = plantTree({
    'open.test.mjs': `${GOOD}setInterval(() => {}, 1000);\n`,
    'hook.test.mjs': `${GOOD}import { after } from 'node:test';\nafter(() => new Promise(() => setInterval(() => {}, 1000)));\n`,
    'loop.test.mjs': `import { test } from 'node:test';\ntest('loops', () => { for (;;); });\n`,
  });
  const shared = join(repositoryRoot, 'tools/run-tests/shared.ts');
  const end = (file: string) => runNode(tree.root, [shared, '1000', file]);
  assert.match(end('open.test.mjs').stderr, /✖ open\.test\.mjs does not end; still open: .*Timeout/);
  assert.match(end('hook.test.mjs').stderr, /✖ hook\.test\.mjs does not end; still open: .*Timeout/);
  const { signal, stderr } = end('loop.test.mjs');
  assert.equal(signal, 'SIGKILL');
  assert.match(stderr, /✖ loop\.test\.mjs does not end; its thread has no turn/);
});

test('shared files run one after the other, with the hooks of each file and its suites', () => {
  const file = (name: string) => `import { after, before, describe, it, test } from 'node:test';
    const say = (what) => () => console.log(\`${name} \${what}\`);
    before(say('opens'));
    after(say('closes'));
    describe('suite', () => { before(say('suite opens')); after(say('suite closes')); it('one', say('one')); });
    test('two', say('two'));\n`;
  using tree = plantTree({ 'a.test.mjs': file('a'), 'b.test.mjs': file('b') });
  const shared = join(repositoryRoot, 'tools/run-tests/shared.ts');
  const { status, stdout } = runNode(tree.root, [shared, '60000', 'a.test.mjs', 'b.test.mjs']);
  const order = ['opens', 'suite opens', 'one', 'suite closes', 'two', 'closes'];
  const said = stdout.split('\n').filter((line) => /^[ab] /.test(line));
  assert.deepEqual(said, [...order.map((what) => `a ${what}`), ...order.map((what) => `b ${what}`)]);
  assert.deepEqual([status, /^ {2}4 tests passed, 0 failed/m.test(stdout)], [0, true], stdout);
});

test('a rejection before the first test of a file fails a run of separate files', () => {
  using tree = plantTree({
    'early.test.mjs': `void Promise.reject(new Error('nobody awaits this'));
      await new Promise(setImmediate);
      const { test } = await import('node:test');\ntest('passes', () => {});\n`,
  });
  const preload = join(repositoryRoot, 'bin/node-test.cjs');
  const { status, stdout } = runNode(tree.root, ['--test', `--import=${preload}`, '*.test.mjs']);
  assert.equal(status, 1, stdout);
  assert.match(stdout, /nobody awaits this/);
});

test('node:test follows no promise after keelson/testing/node-test, and other hooks of the program are unchanged', () => {
  using tree = plantTree({
    // Prints the arguments of each hook that is created.
    'spy.cjs': `const hooks = require('node:async_hooks');
      const create = hooks.createHook;
      hooks.createHook = (made) => {
        console.log('HOOK', Object.keys(made).toSorted().join(), made.trackPromises);
        return create(made);
      };\n`,
    'own.test.mjs': `import { test } from 'node:test';
      import hooks from 'node:async_hooks';
      test('passes', () => {});
      let seen = 0;
      hooks.createHook({ init: () => void seen++, destroy() {} }).enable();
      await Promise.resolve();
      console.log('SEEN', seen > 0);\n`,
  });
  const hooksOf = (...preloads: readonly string[]): readonly string[] => {
    const { stdout } = runNode(tree.root, [...preloads.map((path) => `--import=${path}`), 'own.test.mjs']);
    return stdout.split('\n').filter((line) => /^(HOOK|SEEN)/.test(line));
  };
  const spy = join(tree.root, 'spy.cjs');
  const own = ['HOOK destroy,init undefined', 'SEEN true'];
  assert.deepEqual(hooksOf(spy), ['HOOK destroy,init undefined', ...own]);
  assert.deepEqual(hooksOf(spy, join(repositoryRoot, 'bin/node-test.cjs')), ['HOOK init,trackPromises false', ...own]);
});
