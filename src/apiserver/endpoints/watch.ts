/** WATCH. Upstream: endpoints/handlers/watch.go over the cacher. */
import { expired } from '../../api/status-error.ts';
import type { ApiResponse, ObjectEvent } from '../../api/transport.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { waitUntilFresh } from '../generic-registry/list.ts';
import { type Selection, selectionOf, selects } from '../generic-registry/selection.ts';
import { negotiate } from '../negotiation.ts';
import { isTrue } from '../request-info.ts';
import { CACHE_CONTROL, statusOf, warningHeaders } from '../responses.ts';
import { eventsOf } from '../generic-registry/events.ts';
import type { CacheEvent } from '../watch-cache/cache-event.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import { Watcher, type WatchEncoder, type WatchSink } from '../watch-cache/watcher.ts';
import { FrameSink, ObjectSink } from '../watch-cache/watch-sinks.ts';
import type { Call } from './endpoint.ts';
import { checkListOptions, intParam, revisionParam } from './options.ts';
import { includeObjectOf } from './table.ts';
import { frameEncoder, objectEncoder } from './watch-encoders.ts';

/** As upstream: 30 to 60 minutes unless the client says. */
const minTimeoutMs = 1_800_000;

const watchForms = ['Table', 'PartialObjectMetadata'];

/** Watches that run; the server ends them when it stops. */
export class RunningWatches {
  readonly #running = new Map<Watcher<never>, GenericStore>();

  get size(): number {
    return this.#running.size;
  }

  add(watcher: Watcher<never>, store: GenericStore): void {
    this.#running.set(watcher, store);
  }

  delete(watcher: Watcher<never>): void {
    this.#running.delete(watcher);
  }

  /** Ends the watches of one resource, or all. */
  endAll(of?: GenericStore): void {
    for (const [watcher, store] of this.#running) if (of === undefined || of === store) watcher.end();
  }
}

/** Serves WATCH. */
export async function serveWatch(call: Call, running: RunningWatches): Promise<ApiResponse> {
  const { store, scope } = call;
  const { params, request } = scope;
  checkListOptions(params, true);
  const selection = selectionOf(store, params.get('labelSelector') ?? '', selectorWithName(call));
  if (request.wantsObjects) {
    const sink = new ObjectSink();
    const watcher = await openWatch<ObjectEvent>(call, { sink, encoder: objectEncoder(store), selection });
    const leave = follow(call, running, watcher as Watcher<never>);
    return { kind: 'watch', status: 200, headers: {}, events: sink.batches(leave) };
  }
  const form = negotiate(request.headers['accept'], {
    as: watchForms,
    protobuf: store.definition.schema === undefined,
    stream: true,
  });
  const sink = new FrameSink();
  const encoder = frameEncoder(store, form, includeObjectOf(params));
  const watcher = await openWatch<Uint8Array>(call, { sink, encoder, selection });
  const leave = follow(call, running, watcher as Watcher<never>);
  const contentType =
    form.serialization === 'protobuf' ? 'application/vnd.kubernetes.protobuf;stream=watch' : 'application/json';
  return {
    kind: 'stream',
    status: 200,
    headers: { 'content-type': contentType, 'cache-control': CACHE_CONTROL, ...warningHeaders(scope.warnings) },
    run: (out) => sink.run(out).finally(leave),
  };
}

/** The deprecated `/watch/…/<name>` paths select by name. */
function selectorWithName({ scope }: Call): string {
  const text = scope.params.get('fieldSelector') ?? '';
  const { name } = scope.info;
  if (name === '' || text !== '') return text;
  return `metadata.name=${name}`;
}

function follow(call: Call, running: RunningWatches, watcher: Watcher<never>): () => void {
  const { signal } = call.scope.request;
  const end = (): void => watcher.end();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) watcher.end();
  running.add(watcher, call.store);
  return () => {
    signal.removeEventListener('abort', end);
    running.delete(watcher);
    watcher.end();
  };
}

interface Opening<T> {
  readonly sink: WatchSink<T>;
  readonly encoder: WatchEncoder<T>;
  readonly selection: Selection;
}

async function openWatch<T>(call: Call, { sink, encoder, selection }: Opening<T>): Promise<Watcher<T>> {
  const { store, scope } = call;
  const { params, info } = scope;
  const { hub, clock, random } = store.services;
  const revision = revisionParam(params) ?? 0;
  const wantsInitial = params.has('sendInitialEvents') ? isTrue(params.get('sendInitialEvents')) : revision === 0;
  const timeoutSeconds = intParam(params, 'timeoutSeconds') ?? 0;
  const timeoutMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 : minTimeoutMs * (1 + random.next());
  const under = store.prefixOf(info.namespace);
  const bookmarks = isTrue(params.get('allowWatchBookmarks'));
  const watcher = new Watcher<T>(
    {
      sink,
      encoder,
      selectsAll: selection.isEverything,
      selects: (cell) => selects(store, selection, cell),
      under,
      bookmarks,
      timeoutMs,
    },
    clock,
  );
  if (params.has('sendInitialEvents') && revision > hub.revision) await waitUntilFresh(store, revision);
  const start = {
    revision,
    wantsInitial,
    under,
    marksEnd: params.has('sendInitialEvents') && wantsInitial && bookmarks,
  };
  await prepareStart(store, start);
  begin(call, watcher, start);
  const events = eventsOf(store, (error) => watcher.fail(statusOf(error, store.services.log)));
  watcher.start(events.listen, events.revision);
  return watcher;
}

interface WatchStart {
  readonly revision: number;
  readonly wantsInitial: boolean;
  readonly under: string;
  readonly marksEnd: boolean;
}

/** Converts what the watch starts with, until nothing new has come meanwhile. */
async function prepareStart(store: GenericStore, { revision, wantsInitial, under }: WatchStart): Promise<void> {
  const cells = (): readonly RevisionCell[] =>
    wantsInitial
      ? store.cache.list(under)
      : (store.cache.changesAfter(revision === 0 ? store.services.hub.revision : revision) ?? []).flatMap(cellsOf);
  if (store.definition.reading?.convert === undefined) return;
  for (let work = store.prepare(cells()); work !== undefined; work = store.prepare(cells())) await work;
}

function cellsOf({ cell, previous }: CacheEvent): RevisionCell[] {
  return previous === undefined ? [cell] : [cell, previous];
}

function begin<T>({ store }: Call, watcher: Watcher<T>, start: WatchStart): void {
  const { hub } = store.services;
  const { revision, wantsInitial, under, marksEnd } = start;
  if (wantsInitial) {
    watcher.sendInitial(store.cache.list(under), hub.revision, marksEnd);
    return;
  }
  const from = revision === 0 ? hub.revision : revision;
  const missed = store.cache.changesAfter(from);
  if (missed === undefined)
    watcher.fail(expired(`too old resource version: ${from} (${store.cache.rememberedSince})`).status);
  else watcher.resume(missed, from);
}
