// node --conditions=keelson-source test/fuzz/loads/main.ts [--only PATTERN] [--profile]
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { endAfter } from './hang-watch.ts';
import { allLoads } from './all-loads.ts';
import { runLoad } from './run-load.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    one: { type: 'string' },
    profile: { type: 'boolean', default: false },
    limit: { type: 'string', default: '60000' },
  },
});
const loads = allLoads;
if (values.one !== undefined) {
  endAfter(Number(values.limit));
  console.log(
    JSON.stringify(
      await runLoad(
        loads.find(({ name }) => name === values.one)!,
        { profile: values.profile },
      ),
    ),
  );
  process.exit(0);
}
for (const { name } of loads.filter((load) => load.name.includes(values.only))) {
  const args = [
    '--conditions=keelson-source',
    '--expose-gc',
    '--max-old-space-size=3000',
    '--max-semi-space-size=64',
    import.meta.filename,
    '--one',
    name,
    '--limit',
    values.limit,
  ];
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    [...args, ...(values.profile ? ['--profile'] : [])],
    { encoding: 'utf8', maxBuffer: 2 ** 28 },
  );
  if (status === 0) process.stdout.write(stdout);
  else console.log(JSON.stringify({ name, ended: status ?? signal, stderr: stderr.slice(-1500) }));
}
