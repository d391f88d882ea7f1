/** Reads the API server's records of refused requests: the caller's own, and those of all users when the caller may read them. */
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import type { RefusedRequest, RefusedRequestList } from '../../component-helpers/refused-request.ts';

const MINE = '/keelson/v1/requests';
const EVERYBODYS = '/keelson/v1/all-requests';

/** The newest first. Rejects with a `StatusError` when the server keeps no records, or the caller may not read them. */
export async function listRefused(client: Client, everybodys: boolean): Promise<readonly RefusedRequest[]> {
  const { items } = await read<RefusedRequestList>(client, everybodys ? EVERYBODYS : MINE);
  return items;
}

/**
 * The record with the Audit-Id of the refused request's response; undefined when it is unknown, or the caller may not read it.
 */
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
