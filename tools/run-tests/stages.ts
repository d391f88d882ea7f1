// The stages of `npm test`, in order, cheapest first.
import { globSync } from 'node:fs';

/** One stage: either a program of node_modules or tools/, or a run of node:test over some files. */
export interface Stage {
  readonly name: string;
  /** Commands, each the arguments of Node.js. */
  readonly commands: readonly (readonly string[])[];
  /** Whether they run at the same time. */
  readonly atOnce?: boolean;
  /** Whether this is a run of node:test, which leaves totals. */
  readonly isTestRun: boolean;
}

const check = (name: string, ...commands: string[][]): Stage => ({ name, commands, isTestRun: false });

interface TestRun {
  readonly patterns: readonly string[];
  /** Test files at the same time. */
  readonly concurrency: number;
  /** What hangs longer, a test or a whole file, has failed. */
  readonly timeoutMs: number;
}

function tests(name: string, { patterns, concurrency, timeoutMs }: TestRun): Stage {
  const options = [
    '--test',
    // Examples import the package by its name; here that is the sources.
    '--conditions=keelson-source',
    `--test-concurrency=${concurrency}`,
    `--test-timeout=${timeoutMs}`,
    '--test-reporter=./tools/run-tests/reporter.ts',
    '--test-reporter-destination=stdout',
  ];
  return { name, commands: [[...options, ...patterns]], isTestRun: true };
}

function sideBySide(name: string, ...parts: readonly Stage[]): Stage {
  return { name, commands: parts.flatMap(({ commands }) => commands), isTestRun: true, atOnce: true };
}

/**
 * Every stage in the order in which `npm test` runs them. Unit and simulation tests share two processors. Real containers
 * take turns, and while they are waited for, control planes are tested that need no more of the machine than loopback.
 */
export const stages: readonly Stage[] = [
  check('types', ['node_modules/typescript7/bin/tsc', '-p', 'tsconfig.json']),
  check(
    'lint',
    ['node_modules/oxlint/bin/oxlint', '--deny-warnings', '--report-unused-disable-directives', '--format=unix', '.'],
    ['tools/function-length.ts'],
    ['node_modules/oxfmt/bin/oxfmt', '--check'],
  ),
  check('layers', ['tools/layers.ts']),
  check('knip', ['node_modules/knip/bin/knip.js', '--no-progress']),
  tests('unit', {
    patterns: ['src/**/*.test.ts', 'tools/**/*.test.{ts,mjs}'],
    concurrency: 2,
    timeoutMs: 120_000,
  }),
  tests('sim', { patterns: ['test/sim/**/*.test.ts', 'examples/**/*.test.ts'], concurrency: 2, timeoutMs: 480_000 }),
  sideBySide(
    'integration',
    tests('containers', { patterns: ['test/integration/**/*.test.ts'], concurrency: 1, timeoutMs: 480_000 }),
    tests('control planes', { patterns: ['test/control-plane/**/*.test.ts'], concurrency: 1, timeoutMs: 480_000 }),
  ),
];

/** The named stages in their order, or all of them. @throws Error naming an unknown one */
export function chooseStages(names: readonly string[]): readonly Stage[] {
  const unknown = names.find((name) => !stages.some((stage) => stage.name === name));
  if (unknown !== undefined) {
    throw new Error(`no stage ${JSON.stringify(unknown)}; there are: ${stages.map(({ name }) => name).join(', ')}`);
  }
  return names.length === 0 ? stages : stages.filter(({ name }) => names.includes(name));
}

/** The test files a test stage would run; none means that the stage checks nothing. */
export function testFiles(stage: Stage, root: string): readonly string[] {
  const patterns = stage.commands.flatMap((command) => command.filter((argument) => argument.includes('*')));
  return globSync(patterns, { cwd: root });
}
