// Measures the work of a call by a number that is equal on every machine: how often the blocks of its source ran. Work inside the
// engine, such as copying a list, is not included.
import { Session } from 'node:inspector/promises';
import { setFlagsFromString } from 'node:v8';

// Runs of functions that the compiler put into others would not be counted.
setFlagsFromString('--no-opt');
setFlagsFromString('--no-maglev');
// Counting begins when this file is imported: only functions that are first called later are compiled with block counters.
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/** Number of runs of all blocks and functions in sources whose URL ends with `file`, while `work` runs. */
export async function countSteps(file: string, work: () => unknown): Promise<number> {
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.endsWith(file))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
    .reduce((sum, count) => sum + count, 0);
}
