// The stages of `npm test`, in order, cheapest first.
import { globSync } from 'node:fs';

import { repositoryRoot } from '../repository.ts';

/** One stage: a program of node_modules or tools/, or a run of node:test over some files. */
export interface Stage {
  readonly name: string;
  /** Commands, each the arguments of Node.js. */
  readonly commands: readonly (readonly string[])[];
  /** Whether they run at the same time. */
  readonly atOnce?: boolean;
  /** Runs at the same time as the next stage. */
  readonly besideNext?: boolean;
  /** The test files of a run of node:test, which writes totals; a run without tests is a failure. */
  readonly files?: readonly string[];
  /** The arguments of Node.js that run one of the files alone. */
  readonly alone?: (file: string) => readonly string[];
}

const check = (name: string, ...commands: string[][]): Stage => ({ name, commands });
const besideNext = (stage: Stage): Stage => ({ ...stage, besideNext: true });

interface TestRun {
  readonly patterns: readonly string[];
  /** The longest files, which start first: started last, they would run alone at the end. */
  readonly first?: readonly string[];
  /** The time limit of a test, and of a whole file. */
  readonly timeoutMs: number;
}

interface IsolatedTestRun extends TestRun {
  /** The number of test files at the same time. */
  readonly concurrency: number;
  /** The tests use only a virtual clock: promises need not be tracked, and the process has a lower priority. */
  readonly isSimulated?: boolean;
}

interface SharedTestRun extends TestRun {
  /** The number of processes at the same time. */
  readonly processes: number;
}

/** Arguments of every process with tests. */
const NODE_ARGUMENTS: readonly string[] = [
  // Examples import the package by its name, which resolves to the sources.
  '--conditions=keelson-source',
  // A larger young generation for objects that live for one virtual instant: otherwise a tenth of the time is spent on garbage
  // collection.
  '--max-semi-space-size=64',
];

/** A stage with a process for each file. */
function isolatedTests(name: string, run: IsolatedTestRun): Stage {
  const { patterns, first = [], concurrency, timeoutMs, isSimulated = false } = run;
  const files = findTests(patterns);
  const args = (atOnce: number): readonly string[] => [
    ...NODE_ARGUMENTS,
    ...(isSimulated ? ['--import=./bin/node-test.cjs', '--import=./tools/run-tests/patient.ts'] : []),
    ...['tools/run-tests/isolated.ts', String(atOnce), String(timeoutMs)],
  ];
  const commands = [[...args(concurrency), ...inOrder(files, first)]];
  return { name, commands, files, alone: (file) => [...args(1), file] };
}

/**
 * A stage whose files are dealt out to a few processes, each of which loads shared modules once: for tests that leave nothing
 * global behind, where a process per file would spend as much time on loading and cold code as on testing.
 */
function sharedTests(name: string, { patterns, first = [], processes, timeoutMs }: SharedTestRun): Stage {
  const files = findTests(patterns);
  const ordered = inOrder(files, first);
  const args = [...NODE_ARGUMENTS, 'tools/run-tests/shared.ts', String(timeoutMs)];
  const commands = Array.from({ length: processes }, (_, process) => [
    ...args,
    ...ordered.filter((_file, at) => at % processes === process),
  ]);
  return { name, commands, files, atOnce: true, alone: (file) => [...args, file] };
}

/** The existing files of `first`, then the others. */
function inOrder(files: readonly string[], first: readonly string[]): readonly string[] {
  return [...new Set([...first.filter((file) => files.includes(file)), ...files])];
}

/** The files that match, sorted. Exported for its test. */
export function findTests(patterns: readonly string[], root = repositoryRoot): readonly string[] {
  return globSync(patterns, { cwd: root }).toSorted();
}

function sideBySide(name: string, ...parts: readonly Stage[]): Stage {
  const files = parts.flatMap((part) => part.files ?? []);
  const commands = parts.flatMap((part) => part.commands);
  const partOf = (file: string): Stage | undefined => parts.find((part) => part.files?.includes(file));
  return { name, commands, files, atOnce: true, alone: (file) => partOf(file)?.alone?.(file) ?? [] };
}

/**
 * The files that start first. To update a list, run its stage, which prints its slowest files in this order. A renamed file fails
 * the test of this list, and runs in its turn until then.
 */
export const longest = {
  // One thread each; the scenarios, which run last, keep every processor busy to their end.
  simulations: ['examples/cluster-tests/month.test.ts', 'test/sim/crashes/controllers.test.ts'],
  containers: [
    'test/integration/service-matrix.test.ts',
    'test/integration/dual-stack.test.ts',
    'test/integration/many-machines.test.ts',
    'test/integration/restart.test.ts',
    'test/integration/machine-nodes-starts.test.ts',
    'test/integration/main-job.test.ts',
    'test/integration/machine-nodes.test.ts',
    'test/integration/pods.test.ts',
    'test/integration/command-line.test.ts',
    'test/integration/kubelet-kill.test.ts',
  ],
  // Dealt out in turns, so that each process gets the same number.
  controlPlanes: [
    'test/control-plane/encryption-rotate.test.ts',
    'test/control-plane/kills.test.ts',
    'test/control-plane/doctor.test.ts',
    'test/control-plane/history.test.ts',
    'test/control-plane/supervision.test.ts',
    'test/fuzz/loads.test.ts',
    'test/fuzz/fuzz.test.ts',
    'test/control-plane/etcd-cluster.test.ts',
    'test/control-plane/named-clusters.test.ts',
    'test/control-plane/recipes.test.ts',
    'test/control-plane/disk-full.test.ts',
    'test/control-plane/kubectl-semantics.test.ts',
    'test/control-plane/own-etcd.test.ts',
    'test/control-plane/s3-snapshots.test.ts',
    'test/control-plane/snapshot.test.ts',
    'test/control-plane/apiserver-flags.test.ts',
  ],
} as const;

/**
 * Every stage in the order of `npm test`. A browser leaves half of the machine idle, which simulations, whose clocks are virtual,
 * use. Tests with real containers mostly wait: several run at a time, and beside them control planes, which need only loopback.
 */
export const stages: readonly Stage[] = [
  check(
    'types',
    ['node_modules/typescript7/bin/tsc', '-p', 'tsconfig.json'],
    // Browser code and its tests, which use the DOM's types.
    ['node_modules/typescript7/bin/tsc', '-p', 'src/console/tsconfig.json'],
    ['node_modules/typescript7/bin/tsc', '-p', 'test/console/tsconfig.json'],
  ),
  // At the same time: the check by types alone takes as long as the others together.
  {
    name: 'lint',
    atOnce: true,
    commands: [
      ['node_modules/oxlint/bin/oxlint', '--deny-warnings', '--report-unused-disable-directives', '--format=unix', '.'],
      // Unawaited promises. In product code `void` does not excuse one; where types do not show it (an arrow's body, a returned
      // value), the rule no-void of the first command does.
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
  // The stages after it start `bin/keelson`, which runs the bundle when it was built from these sources.
  check('build', ['tools/build.ts']),
  sharedTests('unit', {
    patterns: ['src/**/*.test.ts', 'tools/**/*.test.{ts,mjs}', 'bench/**/*.test.ts'],
    processes: 2,
    timeoutMs: 300_000,
  }),
  besideNext(
    isolatedTests('sim', {
      patterns: ['test/sim/**/*.test.ts', 'examples/cluster-tests/**/*.test.ts'],
      first: longest.simulations,
      concurrency: 2,
      timeoutMs: 1_200_000,
      isSimulated: true,
    }),
  ),
  // Real browsers, which drop their requests when a network link of the machine is added or removed, as tests with containers do.
  isolatedTests('console', { patterns: ['test/console/**/*.test.ts'], concurrency: 1, timeoutMs: 600_000 }),
  sideBySide(
    'integration',
    isolatedTests('containers', {
      patterns: ['test/integration/**/*.test.ts'],
      first: longest.containers,
      // These tests mostly wait for containers.
      concurrency: 4,
      timeoutMs: 1_200_000,
    }),
    sharedTests('control planes', {
      first: longest.controlPlanes,
      patterns: ['test/{control-plane,fuzz}/**/*.test.ts', 'examples/{operator,webhook}-test/**/*.test.ts'],
      processes: 2,
      timeoutMs: 1_200_000,
    }),
  ),
];

/** The named stages in order, or all of them. @throws Error naming an unknown one */
export function chooseStages(names: readonly string[]): readonly Stage[] {
  const unknown = names.find((name) => !stages.some((stage) => stage.name === name));
  if (unknown !== undefined) {
    throw new Error(`no stage ${JSON.stringify(unknown)}; there are: ${stages.map(({ name }) => name).join(', ')}`);
  }
  return names.length === 0 ? stages : stages.filter(({ name }) => names.includes(name));
}
