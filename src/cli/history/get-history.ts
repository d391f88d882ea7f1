/** Asks a server for an object's history. */
import { parseDurationMs } from '../../api/duration.ts';
import { dateOf, parseTime } from '../../api/time.ts';
import { StatusError } from '../../api/status-error.ts';
import { warningTexts } from '../../api/warning-header.ts';
import type { ObjectAt, ObjectHistory } from '../../apiserver/history/history-view.ts';
import type { RevisionEntry } from '../../apiserver/history/revision-entry.ts';
import { encodeQuery } from '../../client/request-path.ts';
import { UserError } from '../usage-error.ts';
import type { NamedObject } from './connect.ts';

/** The entries requested in one page. */
const PAGE_LIMIT = 500;

/** The newest revisions for which `isWanted` holds, at most `limit`, and all that were examined. */
export async function getHistory(
  object: NamedObject,
  { limit, isWanted = () => true }: { readonly limit: number; readonly isWanted?: (entry: RevisionEntry) => boolean },
): Promise<ObjectHistory & { readonly hidden: number; readonly isCut: boolean }> {
  const revisionEntries: RevisionEntry[] = [];
  let hidden = 0;
  let before: string | undefined;
  for (;;) {
    const page = await getFromHistory<ObjectHistory>(object, { limit: PAGE_LIMIT, before });
    for (const entry of page.revisions) {
      if (revisionEntries.length >= limit) return { ...page, revisions: revisionEntries, hidden, isCut: true };
      if (isWanted(entry)) revisionEntries.push(entry);
      else hidden++;
    }
    before = page.before;
    if (before === undefined) return { ...page, revisions: revisionEntries, hidden, isCut: false };
  }
}

/** Rejects with `UserError` when the object was not there, or its state is not kept. */
export function getObjectAt(object: NamedObject, moment: string): Promise<ObjectAt> {
  return getFromHistory<ObjectAt>(object, { at: momentParam(moment, object.nowMs) });
}

async function getFromHistory<T>(
  object: NamedObject,
  query: Readonly<Record<string, string | number | undefined>>,
): Promise<T> {
  return (await getPath<T>(object, query)).answer;
}

/** The server's answer at a path of its history. Rejects with `UserError` where it keeps none. */
export async function getPath<T>(
  { client, path }: Pick<NamedObject, 'client' | 'path'>,
  query: Readonly<Record<string, string | number | undefined>>,
  accept = 'application/json',
): Promise<{ readonly answer: T; readonly warnings: readonly string[] }> {
  try {
    const request = { path: `/keelson/v1/history${path}?${encodeQuery(query)}`, headers: { accept } };
    const { body, headers } = await client.raw(request);
    const answer = JSON.parse(Buffer.from(body).toString('utf8')) as T;
    return { answer, warnings: warningTexts(headers?.['warning'] ?? '') };
  } catch (error) {
    if (error instanceof StatusError && error.status.reason === 'NotFound' && error.status.details?.name === undefined)
      throw new UserError('this server keeps no history of objects: it was switched off, or it is not Keelson');
    throw error;
  }
}

/** `-10m` becomes a time; revisions and times stay. Throws `UserError` with exit code 2. */
export function momentParam(text: string, nowMs: number): string {
  if (/^\d{1,15}$/.test(text)) return text;
  const ago = text.startsWith('-') ? parseDurationMs(text.slice(1)) : undefined;
  if (ago !== undefined) return dateOf(nowMs - ago).toISOString();
  if (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(parseTime(text))) return text;
  throw new UserError(`${text} is no revision, no time such as 2026-01-31T12:00:00Z and no age such as -10m`, 2);
}
