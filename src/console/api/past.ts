/** Keelson's own answers of the past: `/keelson/v1/history` before the path of an object or a list. */
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { warningTexts } from '../../api/warning-header.ts';
import { sendJson } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

export function pastPath(path: string): string {
  return `/keelson/v1/history${path}`;
}

/** Since when lists are known, and the server's time. */
export interface Span {
  readonly sinceMs: number;
  readonly nowMs: number;
}

/** `path`: of a list. Rejects with 404 where no history is kept. */
export async function readSpan(path: string, signal: AbortSignal): Promise<Span> {
  const { sinceTime, now } = await sendJson<{ readonly sinceTime: string; readonly now: string }>(pastPath(path), {
    signal,
  });
  return { sinceMs: Date.parse(sinceTime), nowMs: Date.parse(now) };
}

/** The object as it was. Rejects with 404 where it was not there, and with 410 where that is not known. */
export async function readObjectAt(
  ref: ObjectRef,
  atMs: number,
  signal: AbortSignal,
): Promise<Stored<KubernetesObject>> {
  const at = encodeURIComponent(new Date(atMs).toISOString());
  const { object } = await sendJson<{ readonly object: Stored<KubernetesObject> }>(
    `${pastPath(objectPath(ref))}?at=${at}`,
    { signal },
  );
  return object;
}

/** What the server warns of. */
export function warningOf({ headers }: Response): string {
  return warningTexts(headers.get('warning') ?? '').join('; ');
}
