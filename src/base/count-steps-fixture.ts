// How much work a call is, as a number that is the same on every machine: how often the blocks of its source ran. What the
// engine does by itself, as to copy a list, is not in it.
import { Session } from 'node:inspector/promises';
import { setFlagsFromString } from 'node:v8';

// Runs of functions that the compiler put into others would not be counted.
setFlagsFromString('--no-opt');
setFlagsFromString('--no-maglev');
// Counting begins when this file is imported: only what is compiled later, thus first called later, is counted by its blocks.
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/** Runs of all blocks and functions of the sources whose address ends with `file`, while `work` runs. */
export async function countSteps(file: string, work: () => unknown): Promise<number> {
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.endsWith(file))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
    .reduce((sum, count) => sum + count, 0);
}
