// The share of history in the cost of a POST, in one process whose history is switched on and off in turns: two processes, as
// `pairs.ts` compares them, differ by more than that, because V8 compiles one better than the other. A turn includes what
// follows its requests: the history is flushed, and its thread works, before the turn's processor time is read. Medians of the
// pairs' ratios, and the ratio of the sums, which also has what only few turns have (checkpoints, full collections).
//
//   node --conditions=keelson-source bench/history-share.ts [--only post,pod] [--rounds 30] [--processes 5]
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { repositoryRoot } from '../tools/repository.ts';
import { ratioLine } from './pairs/ratio.ts';
import { type Kind, sendMany } from './pairs/requests.ts';
import { type Server, type Sides, startServer } from './pairs/server.ts';
import { sleep } from './run/wait.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'post,pod' },
    /** The number of pairs of turns in a process. */
    rounds: { type: 'string', default: '30' },
    processes: { type: 'string', default: '5' },
  },
});

const rounds = Number(options.rounds);
/** Fewer than the thousand changes after which history is written at once, so that a turn has one batch. */
const REQUESTS = 980;
const WARM_UP_TURNS = 8;
/** Longer than the history's thread takes for the changes of a turn. */
const SETTLE_MS = 120;
const SWITCH = join(import.meta.dirname, 'pairs', 'history-switch.ts');
const SOURCE = ['--conditions=keelson-source', '--disable-warning=ExperimentalWarning', '--import', SWITCH];

/** Processor time per request, in microseconds. */
interface Spent {
  readonly all: number;
  readonly main: number;
  readonly own: number;
}

/** One turn. The second signal of a turn with history flushes it. */
async function turn(server: Server, kind: Kind, isOn: boolean): Promise<Spent> {
  const read = (): readonly number[] =>
    [undefined, 'MainThread', 'keelson-history'].map((thread) => server.cpuUs(thread));
  server.signal('SIGWINCH');
  server.signal(isOn ? 'SIGUSR2' : 'SIGCONT');
  await sleep(SETTLE_MS);
  const before = read();
  await sendMany(server, kind, REQUESTS);
  server.signal(isOn ? 'SIGUSR2' : 'SIGCONT');
  await sleep(SETTLE_MS);
  const [all = NaN, main = NaN, own = NaN] = read().map((us, at) => (us - before[at]!) / REQUESTS);
  return { all, main, own };
}

async function measure(kind: Kind, process: number): Promise<readonly Sides<Spent>[]> {
  const build = { tree: repositoryRoot, flags: [], entry: join('src', 'cli', 'main.ts') };
  const server = await startServer(build, SOURCE);
  try {
    for (let warm = 0; warm < WARM_UP_TURNS; warm++) await turn(server, kind, warm % 2 === 0);
    const pairs: Sides<Spent>[] = [];
    for (let round = 0; round < rounds; round++) {
      const isOnFirst = (round + process) % 2 === 0;
      const one = await turn(server, kind, isOnFirst);
      const two = await turn(server, kind, !isOnFirst);
      pairs.push(isOnFirst ? [two, one] : [one, two]);
    }
    return pairs;
  } finally {
    await server.stop();
  }
}

for (const kind of options.only.split(',') as Kind[]) {
  const pairs: Sides<Spent>[] = [];
  for (let process = 0; process < Number(options.processes); process++) pairs.push(...(await measure(kind, process)));
  const sumOf = (side: 0 | 1, figure: keyof Spent): number => pairs.reduce((sum, pair) => sum + pair[side][figure], 0);
  for (const [figure, what] of [
    ['main', 'main thread'],
    ['all', 'all threads'],
  ] as const) {
    const line = ratioLine(
      `${kind}, ${what}, µs`,
      pairs.map(([off, on]) => [off[figure], on[figure]]),
    );
    console.log(`${line}  by sums ${(sumOf(1, figure) / sumOf(0, figure)).toFixed(3)}`);
  }
  console.log(`  the history's thread: ${(sumOf(1, 'own') / pairs.length).toFixed(2)} µs`);
}
