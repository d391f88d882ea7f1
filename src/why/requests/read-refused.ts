/** Reads what the API server remembers of refused requests: one's own, and everybody's where the reader may. */
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import type { RefusedRequest, RefusedRequestList } from '../../component-helpers/refused-request.ts';

const MINE = '/keelson/v1/requests';
const EVERYBODYS = '/keelson/v1/all-requests';

/** The newest first. Rejects with a `StatusError` where the server remembers none, or does not tell. */
export async function listRefused(client: Client, everybodys: boolean): Promise<readonly RefusedRequest[]> {
  const { items } = await read<RefusedRequestList>(client, everybodys ? EVERYBODYS : MINE);
  return items;
}

/** One, by the Audit-Id of its answer; undefined when it is not known, or not told to the reader. */
export async function findRefused(client: Client, id: string): Promise<RefusedRequest | undefined> {
  for (const path of [MINE, EVERYBODYS]) {
    try {
      return await read<RefusedRequest>(client, `${path}/${encodeURIComponent(id)}`);
    } catch (error) {
      if (!isReason(error, 'NotFound') && !isReason(error, 'Forbidden')) throw error;
    }
  }
  return undefined;
}

async function read<T>(client: Client, path: string): Promise<T> {
  const { body } = await client.raw({ path, headers: { accept: 'application/json' } });
  return JSON.parse(Buffer.from(body).toString('utf8')) as T;
}
