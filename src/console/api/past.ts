/** Reads lists and objects of the past: `/keelson/v1/history` before their path. */
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { warningTexts } from '../../api/warning-header.ts';
import { sendJson } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

export function pastPath(path: string): string {
  return `/keelson/v1/history${path}`;
}

/** The time since which lists are recorded, and the server's time. */
export interface Span {
  readonly sinceMs: number;
  readonly nowMs: number;
}

/** `path`: the path of a list. Rejects with 404 when no history is recorded. */
export async function readSpan(path: string, signal: AbortSignal): Promise<Span> {
  const { sinceTime, now } = await sendJson<{ readonly sinceTime: string; readonly now: string }>(pastPath(path), {
    signal,
  });
  return { sinceMs: Date.parse(sinceTime), nowMs: Date.parse(now) };
}

/** The object at a past moment. Rejects with 404 when it did not exist, and with 410 when the moment is not recorded. */
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

/** The text of the response's warning. */
export function warningOf({ headers }: Response): string {
  return warningTexts(headers.get('warning') ?? '').join('; ');
}
