// The linearizability check, for longer than the tests run it:
//   node tools/linearizability.ts [--store memory|sqlite|etcd] [--operations N] [--clients N] [--keys N] [--seed N]
import { parseArgs } from 'node:util';

import { createSeededRandom } from '../src/platform/sim/random.ts';
import { check } from '../test/linearizability/checker.ts';
import { openStores, storeNames } from '../test/linearizability/stores.ts';
import { registersOf, runWorkload } from '../test/linearizability/workload.ts';

const { values } = parseArgs({
  options: {
    store: { type: 'string', multiple: true, default: [...storeNames] },
    operations: { type: 'string', default: '200000' },
    clients: { type: 'string', default: '16' },
    keys: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
  },
});
for (const name of storeNames.filter((one) => values.store.includes(one))) {
  const { stores, close } = await openStores(name);
  const workload = {
    clients: Number(values.clients),
    keys: Number(values.keys),
    watchers: 4,
    operations: Number(values.operations),
  };
  const startMs = performance.now();
  const history = await runWorkload(stores.map(registersOf), createSeededRandom(Number(values.seed)), workload);
  const seconds = (performance.now() - startMs) / 1000;
  await close();
  const problems = check(history);
  const counts = Map.groupBy(history.operations, ({ operation }) => operation.kind);
  const kinds = [...counts].map(([kind, list]) => `${list.length} ${kind}`).join(', ');
  console.log(
    `${name}: ${history.operations.length} operations (${kinds}) in ${seconds.toFixed(1)} s: ${problems.length} violations`,
  );
  for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}
