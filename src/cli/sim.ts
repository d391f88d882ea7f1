/** `keelson sim`: runs scenarios (see docs/testing.md) over seeds, repeats a failed run, makes a failing scenario smaller. */
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Command, Option } from 'commander';
import { stringifyYaml } from '../api/codec/yaml-writer.ts';
import { errorMessage } from '../base/errors.ts';
import { parseScenario, type Scenario } from '../testing/scenario.ts';
import { createSimPool, type SimPool } from './sim-pool.ts';
import { shrinkScenario } from './sim-shrink.ts';
import type { SimAnswer } from './sim-worker.ts';
import { UserError } from './usage-error.ts';

interface RunOptions {
  readonly seeds: string;
  readonly from: string;
  readonly seed?: string;
  readonly threads: string;
  readonly replays: boolean;
  readonly verbose?: true;
}

interface ReplayOptions extends Pick<RunOptions, 'verbose'> {
  readonly console?: true;
  readonly print?: true;
}

export function simCommand(): Command {
  const command = new Command('sim').description('run scenarios against a simulated cluster on virtual time');
  command
    .command('run')
    .description('run scenarios over many seeds')
    .argument('<files...>', 'scenario files')
    .option('--seeds <n>', 'number of seeds', '20')
    .option('--from <n>', 'the first of them', '1')
    .option('--seed <n>', 'this seed alone')
    .option('--threads <n>', 'how many at the same time', String(availableParallelism()))
    .addOption(new Option('--no-replays', 'write no replay file for what fails'))
    .addOption(verboseOption(' with the first seed that fails, or else the first'))
    .action((files: string[], options: RunOptions) =>
      withPool(options.threads, (pool) => runFiles(pool, files, options)),
    );
  command
    .command('replay')
    .description('repeat the run of a replay file, twice, and compare')
    .argument('<file>', 'a scenario with its seed')
    .addOption(verboseOption())
    .option('--console', 'open the run in the console in the browser, moved back and forth; any scenario will do')
    .option('--print', 'print the link and open nothing (with --console)')
    .action((file: string, options: ReplayOptions) => withPool('1', (pool) => replay(pool, file, options)));
  command
    .command('shrink')
    .description('remove from a replay file what its failure does not need')
    .argument('<file>', 'a scenario with its seed')
    .action((file: string) => withPool(String(availableParallelism()), (pool) => shrink(pool, file)));
  return command;
}

function verboseOption(whose = ''): Option {
  return new Option('-v, --verbose', `show what happened${whose}: virtual time, who, what, why`);
}

async function withPool(threads: string, work: (pool: SimPool) => Promise<void>): Promise<void> {
  const pool = createSimPool(positive('--threads', threads));
  try {
    await work(pool);
  } finally {
    await pool.close();
  }
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new UserError(`${flag}: ${text} is not a number from 1 on`, 2);
  return value;
}

function read(file: string): { text: string; scenario: Scenario } {
  try {
    const text = readFileSync(file, 'utf8');
    return { text, scenario: parseScenario(text) };
  } catch (error) {
    throw new UserError(`${file}: ${errorMessage(error)}`, 2);
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function runFiles(pool: SimPool, files: readonly string[], options: RunOptions): Promise<void> {
  let failed = 0;
  for (const file of files) if (!(await runFile(pool, file, options))) failed++;
  if (failed > 0) throw new UserError(`${failed} of ${files.length} scenarios failed`);
}

/** False when a seed failed. */
async function runFile(pool: SimPool, file: string, options: RunOptions): Promise<boolean> {
  const { text, scenario } = read(file);
  const chosen = options.seed ?? scenario.seed;
  const seeds =
    chosen === undefined
      ? seedsOf(scenario, positive('--from', options.from), positive('--seeds', options.seeds))
      : [positive('--seed', String(chosen))];
  const verbose = options.verbose === true;
  const startedMs = performance.now();
  const answers = await Promise.all(
    seeds.map(async (seed, index) => ({
      seed,
      answer: await pool.run(text, seed, { timeline: verbose && index === 0 }),
    })),
  );
  const failures = answers.filter(({ answer }) => answer.failure !== undefined);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const [first] = failures;
  if (verbose) {
    const shown = first ?? answers[0]!;
    const whole = shown === answers[0] ? shown.answer : await pool.run(text, shown.seed, { timeline: true });
    printTimeline(shown.seed, whole);
  }
  print(
    `${first === undefined ? 'ok' : 'FAILED'}  ${scenario.name}: ${seeds.length - failures.length} of ${seeds.length} seeds, ${seconds} s`,
  );
  for (const line of idleWaits(answers.map(({ answer }) => answer))) print(`    ${line}`);
  if (first === undefined) return true;
  print(indent(first.answer.failure!.message));
  print(`    seeds that failed: ${failures.map(({ seed }) => seed).join(', ')}`);
  if (options.replays) printReplay(writeReplay(file, text, first.seed));
  return false;
}

function printTimeline(seed: number, { result, failure }: SimAnswer): void {
  print(`seed ${seed}`);
  for (const line of result?.timeline ?? failure?.timeline ?? []) print(line);
}

function printReplay(path: string): void {
  print(`    replay file: ${path}`);
  print(`    what happened: keelson sim replay -v ${path}`);
  print(`    in the browser: keelson sim replay --console ${path}`);
  print(`    fewer steps: keelson sim shrink ${path}`);
}

/** Waits that ended at once in every successful run. */
function idleWaits(answers: readonly SimAnswer[]): string[] {
  const passed = answers.flatMap(({ result }) => result ?? []);
  const idle = passed.map(({ notes }) => notes.filter(({ kind }) => kind === 'alreadyTrue'));
  const [first = [], ...others] = idle;
  const always = first.filter(({ step }) => others.every((notes) => notes.some((note) => note.step === step)));
  return [...Map.groupBy(always, ({ text }) => text)].map(([text, notes]) => {
    const steps = [...new Set(notes.map(({ step }) => step + 1))];
    return `step${steps.length > 1 ? 's' : ''} ${steps.join(', ')}: ${text}`;
  });
}

function seedsOf({ regressions = [] }: Scenario, first: number, count: number): number[] {
  return [...new Set([...regressions, ...Array.from({ length: count }, (_, index) => first + index)])];
}

function writeReplay(file: string, text: string, seed: number): string {
  const path = `${file.replace(/\.ya?ml$/, '')}.seed-${seed}.replay.yaml`;
  writeFileSync(path, `seed: ${seed}\n${text.replace(/^seed: .*\n/m, '')}`);
  return path;
}

async function replay(pool: SimPool, file: string, options: ReplayOptions): Promise<void> {
  const { text, scenario } = read(file);
  const { verbose } = options;
  if (options.print === true && options.console !== true)
    throw new UserError('--print prints the link to the console: add --console', 2);
  if (options.console === true) {
    const { replayInConsole } = await import('./sim-replay-console.ts');
    await replayInConsole(pool, { text, scenario, print: options.print === true });
    return;
  }
  const answer = await runSeeded(pool, { text, scenario, timeline: verbose });
  const { failure, result } = answer;
  if (verbose === true) printTimeline(scenario.seed!, answer);
  if (failure !== undefined) {
    print(`FAILED  ${indent(failure.message).trimStart()}`);
    throw new UserError(`${scenario.name} fails with seed ${scenario.seed}`);
  }
  print(
    `ok  ${scenario.name} (seed ${result!.seed}): ${result!.changes} changes, ${(result!.virtualMs / 1000).toFixed(1)} s of virtual time, hash ${result!.hash}`,
  );
}

function runSeeded(
  pool: SimPool,
  { text, scenario, timeline = false }: { text: string; scenario: Scenario; timeline?: boolean | undefined },
): Promise<SimAnswer> {
  if (scenario.seed === undefined) throw new UserError(`${scenario.name} has no seed, so it is not a replay file`, 2);
  return pool.run(text, scenario.seed, { twice: true, timeline });
}

async function shrink(pool: SimPool, file: string): Promise<void> {
  const { text, scenario } = read(file);
  const { failure } = await runSeeded(pool, { text, scenario });
  const seed = scenario.seed!;
  if (failure === undefined) throw new UserError(`${scenario.name} does not fail with seed ${seed}`);
  if (failure.step < 0)
    throw new UserError(`${failure.message}: this failure belongs to no step, so the scenario cannot be shrunk`);
  const small = await shrinkScenario({ ...scenario, seed }, failure, async (tried) => {
    return (await pool.run(stringifyYaml(tried), seed)).failure;
  });
  const path = `${file.replace(/(\.replay)?\.ya?ml$/, '')}.min.yaml`;
  writeFileSync(path, stringifyYaml(small));
  print(`${path}: ${small.steps.length} of ${scenario.steps.length} steps play a part`);
}

function indent(text: string): string {
  return text.replace(/^/gm, '    ');
}
