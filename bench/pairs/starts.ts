// Measures starts in alternating turns.
import { ratioLine } from './ratio.ts';
import { type Build, type Sides, startServer } from './server.ts';

/** New starts of each side until they are ready. */
export async function compareStarts(builds: Sides<Build>, rounds: number): Promise<string[]> {
  const clock: Sides<number>[] = [];
  const cpu: Sides<number>[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0 ? 0 : 1;
    const one = await start(builds[first]);
    const two = await start(builds[1 - first]!);
    const [a, b] = first === 0 ? [one, two] : [two, one];
    clock.push([a.startMs, b.startMs]);
    cpu.push([a.startCpuMs, b.startCpuMs]);
  }
  return [ratioLine('start to ready, CPU ms', cpu), ratioLine('start to ready, ms on the clock', clock)];
}

async function start(build: Build): Promise<{ startMs: number; startCpuMs: number }> {
  const server = await startServer(build);
  await server.stop();
  return server;
}
