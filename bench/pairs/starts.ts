// Starts in alternating turns.
import { ratioLine } from './ratio.ts';
import { type Sides, startServer } from './server.ts';

/** Fresh starts of each side until they are ready. */
export async function compareStarts(trees: Sides<string>, rounds: number): Promise<string[]> {
  const clock: Sides<number>[] = [];
  const cpu: Sides<number>[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0 ? 0 : 1;
    const one = await start(trees[first]);
    const two = await start(trees[1 - first]!);
    const [a, b] = first === 0 ? [one, two] : [two, one];
    clock.push([a.startMs, b.startMs]);
    cpu.push([a.startCpuMs, b.startCpuMs]);
  }
  return [ratioLine('start to ready, CPU ms', cpu), ratioLine('start to ready, ms on the clock', clock)];
}

async function start(tree: string): Promise<{ startMs: number; startCpuMs: number }> {
  const server = await startServer(tree);
  await server.stop();
  return server;
}
