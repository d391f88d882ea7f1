/** Reads Keelson's explanation of an object, and its history. */
import { sendJson } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

/** An object by the words of a command. */
export interface NamedObject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface Cause {
  readonly code: string;
  readonly object: NamedObject;
  readonly message: string;
  readonly since?: string;
  readonly nextTry?: string;
  readonly facts?: readonly string[];
  readonly cure?: { readonly text: string; readonly command?: string };
  readonly because: readonly Cause[];
}

export interface Explanation {
  readonly state: 'Fine' | 'Progressing' | 'Trouble' | 'Unknown';
  readonly summary: string;
  readonly causes: readonly Cause[];
  readonly notReadable: readonly string[];
}

export function explain(ref: ObjectRef, signal: AbortSignal): Promise<Explanation> {
  return sendJson(`/keelson/v1/why${objectPath(ref)}`, { signal });
}

/** A change of an object. Values of fields are truncated JSON. */
export interface Revision {
  readonly revision: string;
  readonly time: string;
  readonly change: 'created' | 'changed' | 'deleted' | 'known';
  readonly user?: string;
  readonly manager?: string;
  readonly verb?: string;
  readonly subresource?: string;
  readonly fields?: readonly { readonly path: string; readonly from?: string; readonly to?: string }[];
  readonly fieldCount?: number;
  readonly unreadable?: string;
}

export interface ObjectHistory {
  readonly revisions: readonly Revision[];
  /** The cursor of the next page, which has older changes. */
  readonly before?: string;
}

export function readHistory(ref: ObjectRef, before: string): Promise<ObjectHistory> {
  const params = new URLSearchParams({ limit: '50' });
  if (before !== '') params.set('before', before);
  return sendJson(`/keelson/v1/history${objectPath(ref)}?${params.toString()}`);
}
