// `npm test`: runs the stages in order, stops at the first that fails, and ends with a table of durations, the skipped tests with
// their reasons, and the totals of all test runs in a line: `N passed, N failed`. A check that fails before any test ran counts
// as one failure. A few failed files are run once more, alone; those that pass then are listed, since each hides a bug of the test
// or of what it tests.
//
//   node tools/run-tests.ts [STAGE...]
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { isMain, repositoryRoot } from './repository.ts';
import type { TestTotals } from './run-tests/reporter.ts';
import { againText, runAgain } from './run-tests/second-run.ts';
import { type Skip, skipsText } from './run-tests/skips.ts';
import { chooseStages, type Stage } from './run-tests/stages.ts';

export interface StageResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'not run';
  readonly durationMs: number;
  readonly totals?: TestTotals;
  /** Files that failed first and passed alone. */
  readonly passedAgain?: readonly string[];
}

/** The closing lines: a table of the stages, the skipped tests with their reasons, then the totals. */
export function closingText(results: readonly StageResult[]): string {
  const width = Math.max(...results.map(({ name }) => name.length));
  const marks = { passed: '✓', failed: '✖', 'not run': '-' };
  const lines = results.map(({ name, outcome, durationMs, totals }) => {
    const time = outcome === 'not run' ? 'not run' : `${(durationMs / 1000).toFixed(1)} s`;
    const counts = totals ? `  ${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped` : '';
    return `${marks[outcome]} ${name.padEnd(width)} ${time.padStart(8)}${counts}`;
  });
  const { passed, failed } = sumTotals(results);
  const skips = skipsText(results.flatMap(({ totals }) => totals?.skips ?? []));
  const again = againText(results.flatMap(({ passedAgain }) => passedAgain ?? []));
  return `${lines.join('\n')}\n${skips}${again}${passed} passed, ${failed} failed`;
}

/** The totals over all stages; a failed stage without a failed test counts as one failure. */
export function sumTotals(results: readonly StageResult[]): { passed: number; failed: number } {
  let passed = 0;
  let failed = 0;
  for (const { outcome, totals } of results) {
    passed += totals?.passed ?? 0;
    failed += Math.max(totals?.failed ?? 0, outcome === 'failed' ? 1 : 0);
  }
  return { passed, failed };
}

async function runStage(stage: Stage): Promise<StageResult> {
  const startedMs = performance.now();
  console.log(`▶ ${stage.name}`);
  const folder = mkdtempSync(join(tmpdir(), 'keelson-totals-'));
  try {
    if (stage.files?.length === 0) {
      console.error(`  no test files for ${stage.name}: a stage that checks nothing fails`);
      return { name: stage.name, outcome: 'failed', durationMs: 0 };
    }
    const passed = await runCommands(stage, folder);
    const totals = stage.files ? readTotals(stage, folder) : undefined;
    const result = { name: stage.name, ...(totals && { totals }) };
    const again = passed
      ? undefined
      : await runAgain(stage, totals, (file, args) => {
          console.log(`▶ ${stage.name}: ${file} failed and is run again`);
          return runNode(args, join(folder, 'again'));
        });
    const outcome = passed && (!stage.files || totals !== undefined) ? 'passed' : 'failed';
    return { ...result, outcome, ...again, durationMs: performance.now() - startedMs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function totalsPath(folder: string, command: number): string {
  return join(folder, `totals-${command}.json`);
}

async function runCommands({ commands, atOnce = false }: Stage, folder: string): Promise<boolean> {
  const run = (at: number): Promise<boolean> => runNode(commands[at] ?? [], totalsPath(folder, at));
  if (atOnce) return (await Promise.all(commands.keys().map(run))).every(Boolean);
  let passed = true;
  for (const at of commands.keys()) passed = (await run(at)) && passed;
  return passed;
}

/** The sum over the stage's commands; undefined when one left no totals, because node:test ended before its summary. */
function readTotals({ commands }: Stage, folder: string): TestTotals | undefined {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  const allSkips: Skip[] = [];
  const allFailedFiles: string[] = [];
  for (const at of commands.keys()) {
    try {
      const { passed, failed, skipped, skips, failedFiles } = JSON.parse(
        readFileSync(totalsPath(folder, at), 'utf8'),
      ) as TestTotals;
      sum.passed += passed;
      sum.failed += failed;
      sum.skipped += skipped;
      allSkips.push(...skips);
      allFailedFiles.push(...failedFiles);
    } catch {
      return undefined;
    }
  }
  return { ...sum, skips: allSkips, failedFiles: allFailedFiles };
}

/** Runs Node.js; its standard error is shown when it fails. */
function runNode(args: readonly string[], totals: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const env = {
    ...process.env,
    KEELSON_TEST_TOTALS: totals,
    NODE_COMPILE_CACHE: join(repositoryRoot, '.cache', 'compile'),
  };
  // Control planes in the tests' process log there.
  const errors = `${totals}.stderr`;
  const fd = openSync(errors, 'w');
  const child = spawn(process.execPath, args, { cwd: repositoryRoot, env, stdio: ['ignore', 'inherit', fd] });
  closeSync(fd);
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];
  for (const signal of signals) process.on(signal, forward);
  child.on('error', reject);
  child.on('exit', (code) => {
    for (const signal of signals) process.off(signal, forward);
    if (code !== 0) process.stderr.write(readFileSync(errors));
    resolve(code === 0);
  });
  return promise;
}

/** Stages grouped with those that run at the same time. Exported for its test. */
export function inGroups(stages: readonly Stage[]): readonly (readonly Stage[])[] {
  const groups: Stage[][] = [];
  let open = false;
  for (const stage of stages) {
    if (open) groups.at(-1)!.push(stage);
    else groups.push([stage]);
    open = stage.besideNext === true;
  }
  return groups;
}

async function main(names: readonly string[]): Promise<number> {
  const results: StageResult[] = [];
  for (const group of inGroups(chooseStages(names))) {
    const stopped = results.some(({ outcome }) => outcome === 'failed');
    const notRun = ({ name }: Stage): StageResult => ({ name, outcome: 'not run', durationMs: 0 });
    results.push(...(stopped ? group.map(notRun) : await Promise.all(group.map(runStage))));
  }
  console.log(`\n${closingText(results)}`);
  return results.every(({ outcome }) => outcome === 'passed') ? 0 : 1;
}

if (isMain(import.meta.url)) {
  process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
    console.error(error.message);
    return 1;
  });
}
