/**
 * Keeps a target in step with a resource on the server: list, then watch from there, for ever; or a watch that begins with
 * the objects there are. Upstream: client-go tools/cache.Reflector with its watchList.
 *
 * Invariants: the target sees changes in revision order; after a broken watch it resumes at the last revision seen; after
 * 410 it lists again; failures back off from 0.8 s to 30 s with jitter, and so do watches that end at once.
 */
import { createBackoff } from '../base/backoff.ts';
import { isReason, StatusError } from '../api/status-error.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { Status } from '../api/gen/meta-v1.ts';
import { apiVersionOf, groupResourceOf } from '../api/resource-info.ts';
import { INITIAL_EVENTS_END } from '../api/transport.ts';
import { errorMessage } from '../base/errors.ts';
import { sleepUnlessAborted, type Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Random } from '../platform/random.ts';
import type { ListOptions, ResourceClient, WatchEvent, WatchOptions } from './client.ts';

/** The store that the reflector fills. Calls come one after another and must not throw. */
export interface ReflectorTarget<T> {
  /** The whole content as of `revision`. */
  replace(items: readonly T[], revision: string): void;
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T, revision: string): void;
  /** Nothing of ours changed up to `revision`. */
  bookmark(revision: string): void;
}

export interface ReflectorDeps<T extends KubernetesObject> {
  readonly client: ResourceClient<T>;
  readonly target: ReflectorTarget<Stored<T>>;
  readonly selection: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector' | 'metadataOnly'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const BACKOFF = { initialMs: 800, maxMs: 30_000, factor: 2, jitter: 1 } as const;
/**
 * The longest pause while the server does not answer at all, so that its return is noticed within seconds; upstream's
 * clients take up to a minute.
 */
const ABSENCE_MS = 4_000;
const BACKOFF_RESET_MS = 120_000;
const MIN_WATCH_TIMEOUT_SECONDS = 300;
const SHORT_WATCH_MS = 1000;

/** Runs until the signal aborts; never rejects. */
export async function runReflector<T extends KubernetesObject>(
  deps: ReflectorDeps<T>,
  signal: AbortSignal,
): Promise<void> {
  const backoff = createBackoff(BACKOFF, () => deps.random.next());
  let lastFailureMs = Number.NEGATIVE_INFINITY;
  // '0' asks for any data the server has in memory; '' for the newest, after the server refused an older revision.
  let listFrom = '0';
  let revision: string | undefined;
  let absent = false;
  while (!signal.aborted) {
    try {
      if (revision === undefined) revision = await begin(deps, listFrom, signal);
      else revision = await watchOnce(deps, new Progress(deps, revision), signal);
      continue;
    } catch (error) {
      if (signal.aborted) return;
      const wasAbsent = absent;
      absent = isAbsence(error instanceof WatchEnded ? error.cause : error);
      if (wasAbsent && !absent) backoff.reset(); // the server answers again, even if with an error
      if (error instanceof WatchEnded) revision = error.revision;
      if (isExpired(error instanceof WatchEnded ? error.cause : error)) {
        revision = undefined;
        listFrom = '';
      }
      logListWatchError(deps, error);
    }
    const nowMs = deps.clock.monotonicMs();
    if (nowMs - lastFailureMs > BACKOFF_RESET_MS) backoff.reset();
    lastFailureMs = nowMs;
    const delayMs = backoff.nextMs();
    await sleepUnlessAborted(deps.clock, absent ? Math.min(delayMs, ABSENCE_MS) : delayMs, signal);
  }
}

/** Whether the server did not answer: errors of the network have codes of their own. */
function isAbsence(error: unknown): boolean {
  return !(error instanceof StatusError) && typeof (error as { code?: unknown } | undefined)?.code === 'string';
}

/** A watch that broke after `revision`. */
class WatchEnded extends Error {
  readonly revision: string;
  constructor(revision: string, cause: unknown) {
    super(errorMessage(cause), { cause });
    this.name = 'WatchEnded';
    this.revision = revision;
  }
}

function isExpired(error: unknown): boolean {
  return isReason(error, 'Expired', 'Gone') || (error instanceof StatusError && error.code === 410);
}

function logListWatchError<T extends KubernetesObject>(deps: ReflectorDeps<T>, error: unknown): void {
  const fields = { resource: groupResourceOf(deps.client.info), err: error };
  if (error instanceof WatchEnded && error.cause === undefined) deps.log.debug('watch ended at once', fields);
  else if (isExpired(error instanceof WatchEnded ? error.cause : error))
    deps.log.info('watch expired, listing again', fields);
  else deps.log.warn('failed to list or watch', fields);
}

/** Adds the kind, which list items lack (or have that of bare metadata), so that references to the cached object can be made. */
function withKind<T extends KubernetesObject>(deps: ReflectorDeps<T>, object: Stored<T>): Stored<T> {
  if (deps.selection.metadataOnly === true) {
    const { info } = deps.client;
    return { ...object, apiVersion: apiVersionOf(info), kind: info.kind };
  }
  if (object.kind !== undefined && object.apiVersion !== undefined) return object;
  const { info } = deps.client;
  return { apiVersion: apiVersionOf(info), kind: info.kind, ...object };
}

/**
 * Fills the target: by a list, or by a watch that begins with the objects there are, and then lasts as long as that watch.
 * A server that refuses such a watch is asked for a list, as upstream does.
 */
async function begin<T extends KubernetesObject>(
  deps: ReflectorDeps<T>,
  from: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (deps.client.watchList !== true) return await listAll(deps, from, signal);
  const progress = new Progress(deps, undefined);
  try {
    return await watchOnce(deps, progress, signal, {
      resourceVersion: from === '' ? undefined : from,
      resourceVersionMatch: 'NotOlderThan',
      sendInitialEvents: true,
    });
  } catch (error) {
    if (progress.revision !== undefined || !isRefusal(error)) throw error;
    return await listAll(deps, from, signal);
  }
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof StatusError) || isExpired(error)) return false;
  const { code = 500 } = error.status;
  return code >= 400 && code < 500 && code !== 429;
}

async function listAll<T extends KubernetesObject>(
  deps: ReflectorDeps<T>,
  from: string,
  signal: AbortSignal,
): Promise<string> {
  const items: Stored<T>[] = [];
  let options: ListOptions = { ...deps.selection, signal, resourceVersion: from === '' ? undefined : from };
  for (;;) {
    const page = await deps.client.list(options);
    for (const item of page.items) items.push(withKind(deps, item));
    if (page.metadata.continue === undefined || page.metadata.continue === '') {
      const revision = page.metadata.resourceVersion ?? '0';
      deps.target.replace(items, revision);
      return revision;
    }
    options = { ...deps.selection, signal, continue: page.metadata.continue };
  }
}

type ChangeType = Exclude<WatchEvent<KubernetesObject>['type'], 'ERROR'>;

/** How far a watch has come. */
class Progress<T extends KubernetesObject> {
  /** Undefined until the target is filled. */
  revision: string | undefined;
  events = 0;
  readonly #deps: ReflectorDeps<T>;
  /** The objects with which the watch begins, until all are there. */
  #first: Stored<T>[] = [];

  constructor(deps: ReflectorDeps<T>, revision: string | undefined) {
    this.#deps = deps;
    this.revision = revision;
  }

  take({ type, object }: WatchEvent<Stored<T>>): void {
    if (type === 'ERROR') throw new StatusError(object as Status);
    this.events++;
    if (this.revision === undefined) this.#fill(type, object);
    else this.revision = applyEvent(this.#deps, type, object);
  }

  #fill(type: ChangeType, object: Stored<T>): void {
    if (type === 'ADDED') this.#first.push(withKind(this.#deps, object));
    else if (type === 'BOOKMARK' && object.metadata.annotations?.[INITIAL_EVENTS_END] === 'true') {
      const revision = object.metadata.resourceVersion;
      this.#deps.target.replace(this.#first, revision);
      this.#first = [];
      this.revision = revision;
    } else throw new Error(`${type} among the objects with which a watch begins`);
  }
}

/**
 * Watches until the server ends it; resolves with the last revision. Rejects with `WatchEnded` on anything to back off from,
 * and with the error itself when the target has not been filled.
 */
async function watchOnce<T extends KubernetesObject>(
  deps: ReflectorDeps<T>,
  progress: Progress<T>,
  signal: AbortSignal,
  from: Partial<WatchOptions> = { resourceVersion: progress.revision },
): Promise<string | undefined> {
  const startMs = deps.clock.monotonicMs();
  const timeoutSeconds = Math.floor(MIN_WATCH_TIMEOUT_SECONDS * (1 + deps.random.next()));
  try {
    const watch = deps.client.watch({
      ...deps.selection,
      ...from,
      allowWatchBookmarks: true,
      timeoutSeconds,
      signal,
    });
    for await (const batch of watch) {
      if (signal.aborted) return progress.revision;
      for (const event of batch) progress.take(event);
    }
  } catch (error) {
    if (signal.aborted) return progress.revision;
    throw progress.revision === undefined ? error : new WatchEnded(progress.revision, error);
  }
  if (signal.aborted) return progress.revision;
  const { revision, events } = progress;
  if (revision === undefined) throw new Error('the watch ended before it had sent the objects there are');
  if (events === 0 && deps.clock.monotonicMs() - startMs < SHORT_WATCH_MS) throw new WatchEnded(revision, undefined);
  return revision;
}

function applyEvent<T extends KubernetesObject>(deps: ReflectorDeps<T>, type: ChangeType, object: Stored<T>): string {
  const revision = object.metadata.resourceVersion ?? '';
  if (type === 'BOOKMARK') deps.target.bookmark(revision);
  else deps.target.apply(type, withKind(deps, object), revision);
  return revision;
}
