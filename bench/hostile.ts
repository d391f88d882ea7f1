// A hostile client: sends the most expensive inputs of each kind to a real process, while another client reads.
//
//   node --conditions=keelson-source bench/hostile.ts [--only TEXT] [--above MILLISECONDS] [--repeat COUNT] [--kubeconfig FILE
//   [--halts FILE]]
// Prints, for each input, the longest halt of the server's main thread in processor time, and the longest wait of the other
// client. On a busy machine only the first figure is meaningful. Lists that the server refuses for their number of parts are
// shortened and sent again, until they are read to their end.
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { type HostileInput, limitItems } from './hostile/bodies.ts';
import { inputs } from './hostile/inputs.ts';
import { startPeer } from './hostile/peer.ts';
import { connect, type Figures, type Target } from './hostile/target.ts';
import { createBenchInstance } from './run/instance.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    above: { type: 'string', default: '0' },
    repeat: { type: 'string', default: '3' },
    kubeconfig: { type: 'string' },
    halts: { type: 'string' },
  },
});

const itemCounts = [Infinity, 24_500, 16_000, 11_000, 8000, 5500, 3500, 2000];
/** Inputs that occupy a thread for this long are sent once. */
const SLOW_MS = 3000;
/** Longer halts are measured again: the shortest is the cost of the input. */
const REPEATED_FROM_MS = 25;

async function measureShortest(target: Target, input: HostileInput): Promise<Figures> {
  let shortest: Figures | undefined;
  for (let round = 0; round < Number(options.repeat); round++) {
    for (const step of input.before?.() ?? []) await target.send(step);
    const figures = await target.measure(input.request(), input.settleMs);
    const better = (now: number, before: number | undefined): number => Math.min(now, before ?? Infinity);
    shortest = {
      ...figures,
      haltMs: better(figures.haltMs, shortest?.haltMs),
      waitMs: better(figures.waitMs, shortest?.waitMs),
    };
    const worth = Number.isNaN(shortest.haltMs) ? shortest.waitMs : shortest.haltMs;
    if (worth < REPEATED_FROM_MS || figures.tookMs > SLOW_MS) break;
  }
  return shortest!;
}

function column(value: number): string {
  return value.toFixed(0).padStart(8);
}

async function run(target: Target): Promise<void> {
  const above = Number(options.above);
  let worst = { name: '', haltMs: 0, waitMs: 0 };
  console.log('halt ms, wait ms, answer ms, status, input');
  for (const input of inputs().filter(({ name }) => name.includes(options.only))) {
    for (const count of itemCounts) {
      limitItems(count);
      const figures = await measureShortest(target, input);
      const name = count === Infinity ? input.name : `${input.name}, ${count} items`;
      if (figures.haltMs > worst.haltMs) worst = { ...figures, name };
      if (figures.haltMs >= above || figures.waitMs >= above)
        console.log(
          `${column(figures.haltMs)}${column(figures.waitMs)}${column(figures.tookMs)}  ${figures.status.padEnd(12)} ${name}`,
        );
      if (figures.status !== '413' || figures.tookMs > SLOW_MS) break;
    }
  }
  console.log(`longest halt: ${worst.haltMs.toFixed(0)} ms (${worst.name})`);
}

async function main(): Promise<void> {
  const endPeer = await startPeer();
  await attack().finally(endPeer);
}

async function attack(): Promise<void> {
  if (options.kubeconfig !== undefined) {
    const target = connect(options.kubeconfig, options.halts);
    await run(target).finally(() => target.close());
    return;
  }
  const meter = new URL('hostile/halt-meter.ts', import.meta.url).href;
  const instance = await createBenchInstance(['--simulate', '--nodes', '1'], ['--import', meter]);
  const haltsFile = `${instance.dataDir}.halts`;
  process.env['KEELSON_HALTS_FILE'] = haltsFile;
  try {
    await instance.start();
    const target = connect(instance.kubeconfig, haltsFile);
    await run(target).finally(() => target.close());
  } finally {
    await instance.remove();
    rmSync(haltsFile, { force: true });
  }
}

await main();
