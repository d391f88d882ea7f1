// Memory of an idle server: after its start, and after writes.
import { sleep } from '../run/wait.ts';
import { ratioLine } from './ratio.ts';
import { sendMany } from './requests.ts';
import { type Build, type Server, type Sides, withServers } from './server.ts';

const WRITES = 5000;
/** Longer than the delay after which an idle process releases memory, and than the delay of deferred writes. */
const REST_MS = 40_000;
const MIB = 1024 * 1024;

/** Measures both sides at the same time. */
export async function compareResident(builds: Sides<Build>, processes: number): Promise<string[]> {
  const fresh: Sides<number>[] = [];
  const written: Sides<number>[] = [];
  const rested = async (servers: Sides<Server>): Promise<Sides<number>> => {
    await sleep(REST_MS);
    return [servers[0].anonymousBytes() / MIB, servers[1].anonymousBytes() / MIB];
  };
  for (let process = 0; process < processes; process++)
    await withServers(
      builds,
      async (servers) => {
        fresh.push(await rested(servers));
        for (const server of servers) await sendMany(server, 'post', WRITES);
        written.push(await rested(servers));
      },
      process,
    );
  return [
    ratioLine('memory at rest after a start, MiB', fresh),
    ratioLine(`memory at rest after ${WRITES} writes, MiB`, written),
  ];
}
