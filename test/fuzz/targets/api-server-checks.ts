// The checks of an API server: it is ready, a well-behaved client reads what it wrote, and everything can be read.
import { differences, sampleOf, type Sample } from '../oracles/restart.ts';
import { readBack } from '../oracles/read-back.ts';
import { startTime, unexpectedErrors } from '../oracles/process.ts';
import type { Access } from '../transports/access.ts';
import { OwnClient } from './own-client.ts';
import { prepare, STEADY, untilReady } from './prepare.ts';
import type { Checks } from './target.ts';
import { tidy } from './tidy.ts';

/** The number of the client's writes; it outlives the process. */
export interface Written {
  count: number;
}

export function apiServerChecks(access: Access, written: Written): Checks {
  const client = new OwnClient(access);
  return {
    prepare: () => prepare(client),
    ready: () => untilReady(client),
    serves: () => checkServes(client, written.count),
    async works() {
      await tidy(client);
      await checkWrites(client, ++written.count);
      await checkServes(client, written.count);
    },
    startTime: () => startTime(client),
    problems: async () => [...(await unexpectedErrors(client)), ...(await readBack(client)).problems],
    sample: () => sampleOf(client),
    differences: (before, after) => differences(before as Sample, after as Sample),
    close: () => client.close(),
  };
}

/** @throws Error when the server is not ready, or an object of a well-behaved client differs from what it wrote */
async function checkServes(client: OwnClient, count: number): Promise<void> {
  const ready = await client.send('GET', '/readyz');
  if (ready.status !== 200) throw new Error(`/readyz answers ${ready.status}: ${JSON.stringify(ready.body)}`);
  const { status, body } = await client.send('GET', STEADY);
  const data = body['data'] as { count?: string } | undefined;
  if (status !== 200 || data?.count !== String(count))
    throw new Error(`the well-behaved client reads ${status} ${JSON.stringify(data)} instead of ${count}`);
}

/** Writes and waits for the consequences. @throws Error when the write is refused */
async function checkWrites(client: OwnClient, count: number): Promise<void> {
  const value = { metadata: { name: 'steady' }, data: { count: String(count) } };
  const { status, body } = await client.send('PUT', STEADY, value);
  if (status !== 200) throw new Error(`the well-behaved client's write: ${status} ${JSON.stringify(body)}`);
}
