/** Loads the console of a simulated cluster with real time and real randomness, because its clients are real browsers. */
import type { ConsolePorts } from '../apiserver/console/contract.ts';

export async function loadConsole(): Promise<ConsolePorts> {
  const [{ consolePorts }, { createNodeClock }, { createNodeRandom }, { createMemoryLog }] = await Promise.all([
    import('../cluster/console/console-files.ts'),
    import('../platform/node/clock.ts'),
    import('../platform/node/random.ts'),
    import('../platform/sim/log.ts'),
  ]);
  return consolePorts({ clock: createNodeClock(createMemoryLog()), random: createNodeRandom() });
}
