// The stages of `npm test`, in order, cheapest first.
import { globSync } from 'node:fs';

import { repositoryRoot } from '../repository.ts';

/** One stage: either a program of node_modules or tools/, or a run of node:test over some files. */
export interface Stage {
  readonly name: string;
  /** Commands, each the arguments of Node.js. */
  readonly commands: readonly (readonly string[])[];
  /** Whether they run at the same time. */
  readonly atOnce?: boolean;
  /** Runs beside the next stage. */
  readonly besideNext?: boolean;
  /** The test files of a run of node:test, which leaves totals; none at all is a failure. */
  readonly files?: readonly string[];
}

const check = (name: string, ...commands: string[][]): Stage => ({ name, commands });
const besideNext = (stage: Stage): Stage => ({ ...stage, besideNext: true });

interface TestRun {
  readonly patterns: readonly string[];
  /** What hangs longer, a test or a whole file, has failed. */
  readonly timeoutMs: number;
}

interface IsolatedTestRun extends TestRun {
  /** The files that take longest, those that are there: a run that began them last would end with them alone. */
  readonly first?: readonly string[];
  /** Test files at the same time. */
  readonly concurrency: number;
  /** On a virtual clock alone, which has no need of following promises, and lets what runs beside it go first. */
  readonly isSimulated?: boolean;
}

interface SharedTestRun extends TestRun {
  /** Processes at the same time. */
  readonly processes: number;
}

/** Of every process with tests. */
const NODE_ARGUMENTS: readonly string[] = [
  // Examples import the package by its name; here that is the sources.
  '--conditions=keelson-source',
  // Room for what lives as long as one virtual instant: a tenth of the time goes into collecting it otherwise.
  '--max-semi-space-size=64',
];

/** Each file in a process of its own. */
function isolatedTests(name: string, run: IsolatedTestRun): Stage {
  const { patterns, first = [], concurrency, timeoutMs, isSimulated = false } = run;
  const files = findTests(patterns);
  const ordered = new Set([...first.filter((file) => files.includes(file)), ...files]);
  const args = [
    ...NODE_ARGUMENTS,
    ...(isSimulated ? ['--import=./bin/node-test.cjs', '--import=./tools/run-tests/patient.ts'] : []),
    ...['tools/run-tests/isolated.ts', String(concurrency), String(timeoutMs)],
  ];
  return { name, commands: [[...args, ...ordered]], files };
}

/**
 * The files dealt out to a few processes, each of which loads what they share once: for tests that leave nothing global
 * behind, where a process per file would spend as much time on loading, and on code that is not warm, as on testing.
 */
function sharedTests(name: string, { patterns, processes, timeoutMs }: SharedTestRun): Stage {
  const files = findTests(patterns);
  const commands = Array.from({ length: processes }, (_, process) => [
    ...NODE_ARGUMENTS,
    ...['tools/run-tests/shared.ts', String(timeoutMs)],
    ...files.filter((_file, at) => at % processes === process),
  ]);
  return { name, commands, files, atOnce: true };
}

/** The files that match, sorted. Exported for its test. */
export function findTests(patterns: readonly string[], root = repositoryRoot): readonly string[] {
  return globSync(patterns, { cwd: root }).toSorted();
}

function sideBySide(name: string, ...parts: readonly Stage[]): Stage {
  const files = parts.flatMap((part) => part.files ?? []);
  return { name, commands: parts.flatMap(({ commands }) => commands), files, atOnce: true };
}

/**
 * The files that begin first. To make a list anew, run its stage: it ends with its slowest files in this order. A file that
 * was renamed fails the test of this list, and until then runs in its turn.
 */
export const longest = {
  // One thread each; the scenarios, which come last, keep every processor busy to their end.
  simulations: ['examples/cluster-tests/month.test.ts', 'test/sim/crashes/controllers.test.ts'],
  containers: [
    'test/integration/service-matrix.test.ts',
    'test/integration/many-machines.test.ts',
    'test/integration/dual-stack.test.ts',
    'test/integration/restart.test.ts',
    'test/integration/kubelet-settings.test.ts',
    'test/integration/main-job.test.ts',
    'test/integration/pods.test.ts',
    'test/integration/command-line.test.ts',
    'test/integration/network-policy.test.ts',
    'test/integration/csi.test.ts',
  ],
} as const;

/**
 * Every stage in the order in which `npm test` runs them. Tests with real containers mostly wait for them: several at a
 * time, beside them control planes that need no more of the machine than loopback, and simulations, whose clocks are
 * virtual, take what time of the processors these leave.
 */
export const stages: readonly Stage[] = [
  check(
    'types',
    ['node_modules/typescript7/bin/tsc', '-p', 'tsconfig.json'],
    // Browser code and tests of it, which know the DOM.
    ['node_modules/typescript7/bin/tsc', '-p', 'src/console/tsconfig.json'],
    ['node_modules/typescript7/bin/tsc', '-p', 'test/console/tsconfig.json'],
  ),
  // At once: the check by types alone takes as long as the others together.
  {
    name: 'lint',
    atOnce: true,
    commands: [
      ['node_modules/oxlint/bin/oxlint', '--deny-warnings', '--report-unused-disable-directives', '--format=unix', '.'],
      // Promises that nobody awaits. In product code `void` does not excuse one; where types do not see it (an arrow's body,
      // a returned value), the rule no-void of the first command refuses it.
      ['node_modules/oxlint/bin/oxlint', '--type-aware', '-c', '.oxlintrc.promises.json', '--format=unix', '.'],
      ['tools/function-length.ts'],
      ['tools/type-noise.ts'],
      ['tools/constant-names.ts'],
      ['tools/plain-names.ts'],
      ['tools/call-spreads.ts'],
      ['tools/empty-comments.ts'],
      ['tools/documents.ts'],
      ['node_modules/oxfmt/bin/oxfmt', '--check'],
    ],
  },
  // Each of these three keeps one processor busy.
  besideNext(check('layers', ['tools/layers.ts'])),
  besideNext(check('knip', ['node_modules/knip/bin/knip.js', '--no-progress'])),
  // The stages after it start `bin/keelson`, which runs the bundle when there is one of these very sources.
  check('build', ['tools/build.ts']),
  sharedTests('unit', {
    patterns: ['src/**/*.test.ts', 'tools/**/*.test.{ts,mjs}', 'bench/**/*.test.ts'],
    processes: 2,
    timeoutMs: 300_000,
  }),
  // Real browsers, which drop their requests whenever a link of the machine comes or goes, as the tests with containers make them.
  isolatedTests('console', { patterns: ['test/console/**/*.test.ts'], concurrency: 1, timeoutMs: 600_000 }),
  besideNext(
    isolatedTests('sim', {
      patterns: ['test/sim/**/*.test.ts', 'examples/cluster-tests/**/*.test.ts'],
      first: longest.simulations,
      concurrency: 2,
      timeoutMs: 1_200_000,
      isSimulated: true,
    }),
  ),
  sideBySide(
    'integration',
    isolatedTests('containers', {
      patterns: ['test/integration/**/*.test.ts'],
      first: longest.containers,
      // They wait for containers more than they work.
      concurrency: 4,
      timeoutMs: 1_200_000,
    }),
    sharedTests('control planes', {
      patterns: ['test/{control-plane,fuzz}/**/*.test.ts', 'examples/{operator,webhook}-test/**/*.test.ts'],
      processes: 2,
      timeoutMs: 1_200_000,
    }),
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
