// Compares keelson/testing of two commits: processor time of forks, starts, replicas and days, as ratios with their spread.
//
//   node bench/sim-pairs.ts BASE [OTHER] [--only fork,warm,replicas,days,start,first] [--rounds N] [--processes N] [--keep]
// BASE and OTHER are those of bench/pairs.ts. Both bundles run in one process and work in turns, with alternating order, so that
// load of the machine affects both; `start` (import and first Cluster.start) and `first` (the first 300 replicas of a process)
// start a process per turn.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { ratioLine } from './pairs/ratio.ts';
import type { Sides } from './pairs/server.ts';
import { makeTree, removeTrees } from './pairs/trees.ts';

type Library = typeof import('../src/testing/index.ts');
type Cluster = import('../src/testing/index.ts').Cluster;

/** Processor time: of the main thread, and of all threads. */
interface Spent {
  readonly mainMs: number;
  readonly allMs: number;
}

/** Prepares a side; the result does one turn of work and returns what it cost. */
type Part = (library: Library) => Promise<() => Promise<Spent>>;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: 'fork,warm,replicas,days,start' },
    rounds: { type: 'string', default: '40' },
    processes: { type: 'string', default: '3' },
    keep: { type: 'boolean', default: false },
    /** Set in the processes that are measured: the part. */
    child: { type: 'string' },
  },
});

async function measure(work: () => Promise<unknown>): Promise<Spent> {
  const [all, main] = [process.cpuUsage(), process.threadCpuUsage()];
  await work();
  const [allUsed, mainUsed] = [process.cpuUsage(all), process.threadCpuUsage(main)];
  return { mainMs: (mainUsed.user + mainUsed.system) / 1000, allMs: (allUsed.user + allUsed.system) / 1000 };
}

function deployment(name: string, replicas: number): object {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'app:1' }] } };
  const spec = { replicas, selector: { matchLabels: labels }, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec };
}

async function roll(cluster: Cluster, name: string, replicas: number): Promise<void> {
  await cluster.apply(deployment(name, replicas));
  await cluster.waitFor(`deployment/${name}`, `.status.availableReplicas=${replicas}`);
}

/** A cluster per turn; its stop is not measured. */
function clusterPerTurn(make: (library: Library) => Promise<Cluster>): Part {
  return async (library) => async () => {
    let made: Cluster | undefined;
    const spent = await measure(async () => void (made = await make(library)));
    await made?.stop();
    return spent;
  };
}

const parts: Readonly<Record<string, Part>> = {
  async fork({ Cluster }) {
    const origin = await Cluster.start();
    await roll(origin, 'web', 3);
    return await clusterPerTurn(() => origin.fork())({ Cluster } as Library);
  },
  warm: clusterPerTurn(({ Cluster }) => Cluster.start()),
  async replicas({ Cluster }) {
    return async () => {
      const cluster = await Cluster.start({ nodes: 20 });
      const spent = await measure(() => roll(cluster, 'web', 200));
      await cluster.stop();
      return spent;
    };
  },
  async days({ Cluster, image }) {
    const cluster = await Cluster.start({ images: [image('task:1', { exits: { code: 0, after: '1m' } })] });
    const task = { restartPolicy: 'Never', containers: [{ name: 'task', image: 'task:1' }] };
    await cluster.apply({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'nightly' },
      spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template: { spec: task } } } },
    });
    await cluster.advance('12h');
    return () => measure(() => cluster.advance('6h'));
  },
};

/** Parts of which each turn is a process of its own: what it does, and its name in the table. */
const programs: Readonly<Record<string, string>> = {
  start: 'import of keelson/testing and Cluster.start',
  first: 'the first 300 replicas of a process',
};

const load = async (tree: string): Promise<Library> =>
  (await import(pathToFileURL(join(tree, 'dist', 'testing.js')).href)) as Library;

/** The work of a process of `programs`; the sums of several steps are printed under their names. */
async function runProgram(name: string, tree: string): Promise<Record<string, Spent>> {
  let library: Library | undefined;
  const imported = await measure(async () => void (library = await load(tree)));
  const { Cluster } = library!;
  if (name === 'start') return { import: imported, start: await measure(() => Cluster.start()) };
  const cluster = await Cluster.start({ nodes: 30 });
  return { [name]: await measure(() => roll(cluster, 'web', 300)) };
}

async function runTurns(name: string, trees: Sides<string>): Promise<Record<string, Sides<Spent>[]>> {
  const libraries: Sides<Library> = [await load(trees[0]), await load(trees[1])];
  const part = parts[name]!;
  const turns = [await part(libraries[0]), await part(libraries[1])] as const;
  const warmUp = name === 'fork' || name === 'warm' ? 20 : 2;
  const pairs: Sides<Spent>[] = [];
  for (let round = 0; round < warmUp + Number(options.rounds); round++) {
    const first = round % 2 === 0 ? 0 : 1;
    globalThis.gc?.();
    const one = await turns[first]();
    globalThis.gc?.();
    const two = await turns[1 - first]!();
    if (round >= warmUp) pairs.push(first === 0 ? [one, two] : [two, one]);
  }
  return { [name]: pairs };
}

/** Runs a process of this program and returns what it prints. */
function child(name: string, ...trees: readonly string[]): Promise<unknown> {
  const flags = ['--expose-gc', import.meta.filename, '--child', name, '--rounds', options.rounds, ...trees];
  const running = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  running.stdout.on('data', (data: Buffer) => (text += data.toString()));
  return new Promise((resolve, reject) => {
    running.on('error', reject);
    running.on('exit', (code) => (code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`${name}: exit ${code}`))));
  });
}

async function comparePrograms(name: string, trees: Sides<string>): Promise<Record<string, Sides<Spent>[]>> {
  for (let round = 0; round < 3; round++) for (const tree of trees) await child(name, tree); // they keep compiled code
  const found: Record<string, Sides<Spent>[]> = {};
  for (let round = 0; round < Number(options.rounds); round++) {
    const first = round % 2 === 0 ? 0 : 1;
    const one = (await child(name, trees[first])) as Record<string, Spent>;
    const two = (await child(name, trees[1 - first]!)) as Record<string, Spent>;
    const [a, b] = first === 0 ? [one, two] : [two, one];
    for (const key of Object.keys(a)) (found[key] ??= []).push([a[key]!, b[key]!]);
  }
  return found;
}

function report(found: Record<string, Sides<Spent>[]>): void {
  for (const [name, pairs] of Object.entries(found)) {
    console.log(
      ratioLine(
        `${name}, main thread ms`,
        pairs.map(([a, b]) => [a.mainMs, b.mainMs]),
      ),
    );
    console.log(
      ratioLine(
        `${name}, all threads ms`,
        pairs.map(([a, b]) => [a.allMs, b.allMs]),
      ),
    );
  }
}

async function compare(trees: Sides<string>): Promise<void> {
  for (const name of options.only.split(',')) {
    if (name in programs) {
      report(await comparePrograms(name, trees));
      continue;
    }
    const all: Sides<Spent>[] = [];
    for (let index = 0; index < Number(options.processes); index++) {
      const order = index % 2 === 0 ? trees : ([trees[1], trees[0]] as const);
      const pairs = ((await child(name, ...order)) as Record<string, Sides<Spent>[]>)[name]!;
      all.push(...pairs.map(([a, b]): Sides<Spent> => (index % 2 === 0 ? [a, b] : [b, a])));
    }
    report({ [name]: all });
  }
}

const [base, other = '.'] = positionals;
if (base === undefined)
  throw new Error('usage: node bench/sim-pairs.ts BASE [OTHER] [options]: see the head of this file');
if (options.child === undefined) {
  try {
    await compare([await makeTree(base), await makeTree(other)]);
  } finally {
    if (!options.keep) removeTrees();
  }
} else {
  const found =
    options.child in programs ? await runProgram(options.child, base) : await runTurns(options.child, [base, other]);
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
}
