// Two commits side by side: what a request, a start and idling cost the server, as ratios with their spread.
//
//   node bench/pairs.ts BASE [OTHER] [--only get,post,pod,start,idle,memory] [--rounds N] [--processes N] [--seconds N] [--keep]
//
// OTHER is by default what the checkout holds, without files git does not know. Each commit is built in a worktree of its
// own below a temporary directory; BASE may be such a directory that an earlier run kept. Figures are the server's processor
// time, which other work on the machine changes less than time on the clock. Both servers run at the same time and work in
// turns, the first of which changes: what the machine does meanwhile meets both. V8 compiles the same code better in one
// process than in another, which no number of rounds evens out: `--processes` compares so many pairs of servers.
import { parseArgs } from 'node:util';

import { compareMemory } from './pairs/memory.ts';
import { compareRequests, kinds, type Kind } from './pairs/requests.ts';
import { processesLine, ratioLine } from './pairs/ratio.ts';
import { type Server, type Sides, startServer, withServers } from './pairs/server.ts';
import { compareStarts } from './pairs/starts.ts';
import { removeTrees, makeTree } from './pairs/trees.ts';
import { sleep } from './run/wait.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: 'get,post,pod,memory,idle,start' },
    rounds: { type: 'string', default: '100' },
    /** Of requests, each with as many rounds. */
    processes: { type: 'string', default: '1' },
    /** Of idling. */
    seconds: { type: 'string', default: '60' },
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

async function measure(trees: Sides<string>): Promise<void> {
  // The first start of a build compiles what later ones find compiled.
  for (const tree of trees) await (await startServer(tree)).stop();
  const wanted = (Object.keys(kinds) as Kind[]).filter((kind) => parts.includes(kind));
  if (parts.includes('idle')) await withServers(trees, async (servers) => console.log(await compareIdling(servers)));
  const found = new Map<Kind, Sides<number>[][]>(wanted.map((kind) => [kind, []]));
  for (let process = 0; wanted.length > 0 && process < Number(options.processes); process++)
    await withServers(trees, async (servers) => {
      for (const kind of wanted) found.get(kind)!.push(await compareRequests(servers, kind, rounds));
    });
  for (const [kind, processes] of found) {
    console.log(ratioLine(kinds[kind].what, processes.flat()));
    if (processes.length > 1) console.log(processesLine(processes));
  }
  if (parts.includes('memory')) for (const line of await compareMemory(trees)) console.log(line);
  if (parts.includes('start')) for (const line of await compareStarts(trees, Math.ceil(rounds / 5))) console.log(line);
}

const [base, other = '.'] = positionals;
if (base === undefined) throw new Error('usage: node bench/pairs.ts BASE [OTHER] [options]: see the head of this file');
try {
  const trees = [await makeTree(base), await makeTree(other)] as const;
  console.log(`${trees[0]}\n${trees[1]}\n`);
  await measure(trees);
} finally {
  if (!options.keep) removeTrees();
}
