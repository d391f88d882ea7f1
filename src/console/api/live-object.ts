/** Follows one object: reads it, then watches it by name. An object that may not be watched is polled. */
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { ApiError, send, sendJson } from './http.ts';
import { listPath, type ObjectRef, objectPath } from './kinds.ts';
import { linesOf } from './lines.ts';
import { readObjectAt } from './past.ts';
import { isBrief, isFinal, pauseAfter } from './patience.ts';
import { pause } from './pause.ts';

/** Receives the states of the object. */
export interface ObjectSink {
  put(object: KubernetesObject): void;
  /** The object does not exist, or was deleted. */
  gone(): void;
  /** The last attempt failed; another one follows unless the refusal is final. */
  failed(error: ApiError): void;
}

const RETRY_MS = 2000;
const POLL_MS = 5000;

/** An object at a moment; without `atMs`, in the present. */
export interface ObjectQuery {
  readonly ref: ObjectRef;
  readonly atMs?: number | undefined;
}

/** Continues until the signal aborts or the server's refusal is final. An object of the past is read once. */
export async function followObject({ ref, atMs }: ObjectQuery, sink: ObjectSink, signal: AbortSignal): Promise<void> {
  if (atMs !== undefined) return readOnce({ ref, atMs }, sink, signal);
  let canWatch = ref.kind.verbs.includes('watch');
  let failures = 0;
  while (!signal.aborted) {
    let known = false;
    try {
      const object = await sendJson<Stored<KubernetesObject>>(objectPath(ref), { signal });
      sink.put(object);
      known = true;
      failures = 0;
      if (canWatch) await watchOne(ref, { version: object.metadata.resourceVersion, sink, signal });
      else await pause(POLL_MS, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 404) sink.gone();
      else if (known && canWatch && (error.code === 403 || error.code === 405)) canWatch = false;
      else {
        if (!isBrief(error, failures)) sink.failed(error);
        if (error.code === 401 || error.code === 403) return;
      }
      if (error.code === 0) await pauseAfter(failures++, signal);
      else await pause(RETRY_MS, signal);
    }
  }
}

async function readOnce(
  { ref, atMs }: Required<ObjectQuery> & { readonly atMs: number },
  sink: ObjectSink,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      return sink.put(await readObjectAt(ref, atMs, signal));
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 404) return sink.gone();
      sink.failed(error);
      if (isFinal(error) || error.code === 410) return;
      await pause(RETRY_MS, signal);
    }
  }
}

interface Watched {
  readonly version: string;
  readonly sink: ObjectSink;
  readonly signal: AbortSignal;
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubernetesObject & { readonly code?: number; readonly message?: string };
}

async function watchOne(ref: ObjectRef, { version, sink, signal }: Watched): Promise<void> {
  const params = new URLSearchParams({
    watch: '1',
    resourceVersion: version,
    fieldSelector: `metadata.name=${ref.name}`,
  });
  const response = await send(`${listPath(ref.kind, ref.namespace)}?${params.toString()}`, { signal });
  for await (const lines of linesOf(response))
    for (const line of lines) {
      if (line === '') continue;
      const { type, object } = JSON.parse(line) as WatchEvent;
      if (type === 'ERROR') return; // the revision is too old; the object is read again
      if (type === 'DELETED') sink.gone();
      else if (type !== 'BOOKMARK') sink.put(object);
    }
}
