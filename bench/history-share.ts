// The share of history in the cost of a POST, without a second side to compare: the processor time of its thread, and the share
// of its modules in the main thread's samples. Two processes, as `pairs.ts` compares them, differ by more than that, because V8
// compiles one better than the other.
//
//   node --conditions=keelson-source bench/history-share.ts [POSTS]
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { repositoryRoot } from '../tools/repository.ts';
import { sendMany } from './pairs/requests.ts';
import { startServer } from './pairs/server.ts';
import { sleep } from './run/wait.ts';

const THREADS = [undefined, 'MainThread', 'keelson-history'] as const;
const MODULES = /\/(?:apiserver|storage\/sqlite)\/history\//;
/** The history is written two seconds after the changes, or after a thousand of them. */
const AFTERWARDS_MS = 4000;

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Sampled time of the history's modules including what they call, and of everything except idling, in microseconds. */
function sharesOf({ nodes, samples, timeDeltas }: Profile): { history: number; all: number } {
  const inHistory = new Set<number>();
  const idle = new Set(nodes.filter((node) => node.callFrame.functionName === '(idle)').map(({ id }) => id));
  // A node precedes its children.
  for (const { id, callFrame, children = [] } of nodes) {
    if (MODULES.test(callFrame.url)) inHistory.add(id);
    if (inHistory.has(id)) for (const child of children) inHistory.add(child);
  }
  let history = 0;
  let all = 0;
  for (const [at, node] of samples.entries()) {
    if (idle.has(node)) continue;
    all += timeDeltas[at]!;
    if (inHistory.has(node)) history += timeDeltas[at]!;
  }
  return { history, all };
}

const posts = Number(process.argv[2] ?? 20_000);

/** Microseconds of a POST in one process: in all threads, in the main thread and in the history's. */
async function spent(nodeArgs: readonly string[] = []): Promise<readonly number[]> {
  const server = await startServer({ tree: repositoryRoot, flags: [] }, nodeArgs);
  try {
    await sendMany(server, 'post', posts / 4);
    await sleep(AFTERWARDS_MS);
    const before = THREADS.map((thread) => server.cpuUs(thread));
    await sendMany(server, 'post', posts);
    await sleep(AFTERWARDS_MS);
    return THREADS.map((thread, at) => (server.cpuUs(thread) - before[at]!) / posts);
  } finally {
    await server.stop();
  }
}

/** The share of the history's modules in the main thread's samples. */
async function sampled(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-profile-'));
  try {
    await spent(['--cpu-prof', `--cpu-prof-dir=${folder}`]);
    const profiles = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile);
    const main = profiles.map(sharesOf).toSorted((a, b) => b.all - a.all)[0]!;
    if (main.history === 0)
      throw new Error('no sample lies in the modules of history: do their folders have other names?');
    return main.history / main.all;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const percent = (part: number): string => `${(100 * part).toFixed(2)} %`;
const [whole = NaN, main = NaN, own = NaN] = await spent();
// The profiler slows every thread, so its figures of the main thread are used as a share.
const here = main * (await sampled());
console.log(
  `a POST takes ${whole.toFixed(1)} µs of processor time, ${percent((own + here) / whole)} of that for the history:`,
);
console.log(
  `  its thread ${own.toFixed(2)} µs, its modules ${here.toFixed(2)} of the main thread's ${main.toFixed(1)} µs`,
);
