// node --conditions=keelson-source test/fuzz/loads/main.ts [--only PATTERN] [--profile] [--limit MS]
// Runs each load in a separate process and prints the result in a line. `--quick`: the short ones, all in this process.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { allLoads, quickLoads } from './all-loads.ts';
import { endAfter } from './hang-watch.ts';
import type { Load } from './load.ts';
import { runLoad } from './run-load.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    one: { type: 'string' },
    quick: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    limit: { type: 'string', default: '60000' },
  },
});
const { profile } = values;
const nodeArguments = ['--conditions=keelson-source', '--expose-gc', '--max-old-space-size=3000'];

async function runHere(loads: readonly Load[]): Promise<void> {
  endAfter(Number(values.limit));
  for (const load of loads) {
    console.error(`${load.name} …`);
    console.log(JSON.stringify(await runLoad(load, { profile })));
  }
}

function runApart({ name }: Load): void {
  const own = ['--one', name, '--limit', values.limit, ...(profile ? ['--profile'] : [])];
  const options = { encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
  const child = spawnSync(process.execPath, [...nodeArguments, import.meta.filename, ...own], options);
  if (child.status === 0) process.stdout.write(child.stdout);
  else console.log(JSON.stringify({ name, ended: child.status ?? child.signal, stderr: child.stderr.slice(-1500) }));
}

const chosen = (values.quick ? quickLoads : allLoads).filter(({ name }) => name.includes(values.only));
if (values.one !== undefined) await runHere(allLoads.filter(({ name }) => name === values.one));
else if (values.quick) await runHere(chosen);
else chosen.forEach(runApart);
