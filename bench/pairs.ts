// Compares two commits: the server's cost of a request, a start and idling, as ratios with their spread.
//
//   node bench/pairs.ts BASE [OTHER] [--only get,post,pod,start,idle,memory,resident] [--rounds N] [--processes N]
//     [--seconds N] [--base-flags FLAGS] [--other-flags FLAGS] [--keep]
// OTHER is by default the checkout's content, without files that git does not track. Each commit is built in a separate worktree
// below a temporary directory; BASE may be such a directory that an earlier run kept. Figures are the server's processor time,
// which other work on the machine affects less than elapsed time. Both servers run at the same time and work in turns, with
// alternating order, so that load of the machine affects both. V8 compiles the same code better in one process than in another,
// which more rounds do not even out: `--processes` compares several pairs of servers. `--base-flags` and `--other-flags` are
// flags of `up` separated by spaces: `. . --base-flags=--history-size=0` compares a commit without history to the same one with
// it.
import { parseArgs } from 'node:util';

import { compareMemory } from './pairs/memory.ts';
import { compareRequests, kinds, type Kind, type Spent } from './pairs/requests.ts';
import { processesLine, ratioLine } from './pairs/ratio.ts';
import { compareResident } from './pairs/resident.ts';
import { type Build, type Server, type Sides, startServer, withServers } from './pairs/server.ts';
import { compareStarts } from './pairs/starts.ts';
import { removeTrees, makeTree } from './pairs/trees.ts';
import { sleep } from './run/wait.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: 'get,post,pod,memory,idle,start' },
    rounds: { type: 'string', default: '100' },
    /** Pairs of processes for requests, each with as many rounds. */
    processes: { type: 'string', default: '1' },
    /** The duration of idling. */
    seconds: { type: 'string', default: '60' },
    'base-flags': { type: 'string', default: '' },
    'other-flags': { type: 'string', default: '' },
    keep: { type: 'boolean', default: false },
  },
});

const SETTLE_MS = 15_000;
const WINDOW_MS = 5000;
const parts = options.only.split(',');
const rounds = Number(options.rounds);

/** Both at the same time, in windows. */
async function compareIdling(servers: Sides<Server>): Promise<string> {
  await sleep(SETTLE_MS);
  const pairs: Sides<number>[] = [];
  for (let window = 0; window * WINDOW_MS < Number(options.seconds) * 1000; window++) {
    const before = [servers[0].cpuUs(), servers[1].cpuUs()] as const;
    await sleep(WINDOW_MS);
    const perSecond = (side: 0 | 1): number => (servers[side].cpuUs() - before[side]) / (WINDOW_MS / 1000);
    pairs.push([perSecond(0), perSecond(1)]);
  }
  return ratioLine('idle, CPU µs a second', pairs);
}

async function measure(builds: Sides<Build>): Promise<void> {
  // The first start of a build compiles code that later starts find compiled.
  for (const build of builds) await (await startServer(build)).stop();
  const wanted = (Object.keys(kinds) as Kind[]).filter((kind) => parts.includes(kind));
  if (parts.includes('idle')) await withServers(builds, async (servers) => console.log(await compareIdling(servers)));
  const found = new Map<Kind, Spent[]>(wanted.map((kind) => [kind, []]));
  for (let process = 0; wanted.length > 0 && process < Number(options.processes); process++)
    await withServers(
      builds,
      async (servers) => {
        for (const kind of wanted) {
          const spent = await compareRequests(servers, kind, { rounds, pair: process });
          found.get(kind)!.push(spent);
          console.error(`${kind} of pair ${process + 1}: ${(spent.whole[1] / spent.whole[0]).toFixed(3)}`);
        }
      },
      process,
    );
  for (const [kind, processes] of found) {
    console.log(
      ratioLine(
        kinds[kind].what,
        processes.flatMap(({ turns }) => turns),
      ),
    );
    console.log(processesLine(processes.map(({ whole }) => whole)));
  }
  if (parts.includes('memory')) for (const line of await compareMemory(builds)) console.log(line);
  if (parts.includes('resident'))
    for (const line of await compareResident(builds, Number(options.processes))) console.log(line);
  if (parts.includes('start')) for (const line of await compareStarts(builds, Math.ceil(rounds / 5))) console.log(line);
}

const [base, other = '.'] = positionals;
if (base === undefined) throw new Error('usage: node bench/pairs.ts BASE [OTHER] [options]: see the head of this file');
try {
  const tree = await makeTree(base);
  const flagsOf = (text: string): string[] => text.split(' ').filter((flag) => flag !== '');
  const builds: Sides<Build> = [
    { tree, flags: flagsOf(options['base-flags']) },
    { tree: other === base ? tree : await makeTree(other), flags: flagsOf(options['other-flags']) },
  ];
  for (const build of builds) console.log(build.tree, ...build.flags);
  await measure(builds);
} finally {
  if (!options.keep) removeTrees();
}
