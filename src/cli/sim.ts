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
    .action((files: string[], options: RunOptions) =>
      withPool(options.threads, (pool) => runFiles(pool, files, options)),
    );
  command
    .command('replay')
    .description('repeat the run of a replay file, twice, and compare')
    .argument('<file>', 'a scenario with its seed')
    .action((file: string) => withPool('1', (pool) => replay(pool, file)));
  command
    .command('shrink')
    .description('remove from a replay file what its failure does not need')
    .argument('<file>', 'a scenario with its seed')
    .action((file: string) => withPool(String(availableParallelism()), (pool) => shrink(pool, file)));
  return command;
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
  for (const file of files) {
    const { text, scenario } = read(file);
    const chosen = options.seed ?? scenario.seed;
    const seeds =
      chosen === undefined
        ? seedsOf(scenario, positive('--from', options.from), positive('--seeds', options.seeds))
        : [positive('--seed', String(chosen))];
    const startedMs = performance.now();
    const answers = await Promise.all(seeds.map(async (seed) => ({ seed, answer: await pool.run(text, seed) })));
    const failures = answers.filter(({ answer }) => answer.failure !== undefined);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    print(
      `${failures.length === 0 ? 'ok' : 'FAILED'}  ${scenario.name}: ${seeds.length - failures.length} of ${seeds.length} seeds, ${seconds} s`,
    );
    const [first] = failures;
    if (first === undefined) continue;
    failed++;
    print(indent(first.answer.failure!.message));
    print(`    seeds that failed: ${failures.map(({ seed }) => seed).join(', ')}`);
    if (options.replays) print(`    replay file: ${writeReplay(file, text, first.seed)}`);
  }
  if (failed > 0) throw new UserError(`${failed} of ${files.length} scenarios failed`);
}

function seedsOf({ regressions = [] }: Scenario, first: number, count: number): number[] {
  return [...new Set([...regressions, ...Array.from({ length: count }, (_, index) => first + index)])];
}

function writeReplay(file: string, text: string, seed: number): string {
  const path = `${file.replace(/\.ya?ml$/, '')}.seed-${seed}.replay.yaml`;
  writeFileSync(path, `seed: ${seed}\n${text.replace(/^seed: .*\n/m, '')}`);
  return path;
}

async function replay(pool: SimPool, file: string): Promise<void> {
  const { text, scenario } = read(file);
  const { failure, result } = await runSeeded(pool, text, scenario);
  if (failure !== undefined) {
    print(`FAILED  ${indent(failure.message).trimStart()}`);
    throw new UserError(`${scenario.name} fails with seed ${scenario.seed}`);
  }
  print(
    `ok  ${scenario.name} (seed ${result!.seed}): ${result!.changes} changes, ${(result!.virtualMs / 1000).toFixed(1)} s of virtual time, hash ${result!.hash}`,
  );
}

function runSeeded(pool: SimPool, text: string, scenario: Scenario): Promise<SimAnswer> {
  if (scenario.seed === undefined) throw new UserError(`${scenario.name} has no seed, so it is not a replay file`, 2);
  return pool.run(text, scenario.seed, { twice: true });
}

async function shrink(pool: SimPool, file: string): Promise<void> {
  const { text, scenario } = read(file);
  const { failure } = await runSeeded(pool, text, scenario);
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
