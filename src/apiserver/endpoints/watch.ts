/** WATCH. Upstream: endpoints/handlers/watch.go over the cacher. */
import type { ApiResponse, ObjectEvent } from '../../api/transport.ts';
import { onAbort } from '../../base/abort.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { ByteSink } from '../../platform/streams.ts';
import { eventsOf } from '../generic-registry/events.ts';
import { untilFresh } from '../generic-registry/freshness.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { type Selection, selectionOf, selects } from '../generic-registry/selection.ts';
import { negotiate } from '../negotiation.ts';
import { isTrue } from '../request-info.ts';
import { CACHE_CONTROL, statusOf } from '../responses.ts';
import { overWebSocket, wantsWebSocket, watchMessages } from '../streaming/websocket-stream.ts';
import { warningHeaders } from '../warning-headers.ts';
import type { CacheListener, ListenerTrigger } from '../watch-cache/listeners.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import { FrameSink, ObjectSink } from '../watch-cache/watch-sinks.ts';
import { type WatchEncoder, Watcher, type WatchSink } from '../watch-cache/watcher.ts';
import type { Call } from './endpoint.ts';
import { countedCells } from './first-state.ts';
import { startWatching, type WatchStart, encodeAhead, initialCells, prepareStart } from './initial-events.ts';
import { inBudget } from './list.ts';
import { checkListOptions, int64Param, revisionParam } from './options.ts';
import type { RunningWatches } from './running-watches.ts';
import { includeObjectOf } from './table.ts';
import { frameEncoder, objectEncoder } from './watch-encoders.ts';
import { watchWeight } from './watch-quota.ts';
/** Watches inside the process last this much longer: they cannot break unnoticed, nor move to another server. */
const INSIDE_FACTOR = 24;

const WATCH_FORMS = ['Table', 'PartialObjectMetadata'];

export async function serveWatch(
  call: Call,
  { watches: running, crypto }: { readonly watches: RunningWatches; readonly crypto: CryptoPort },
): Promise<ApiResponse> {
  const { store, scope } = call;
  const { params, request } = scope;
  checkListOptions(params, true);
  const selection = selectionOf(store, scope);
  const form = negotiate(request.headers['accept'], {
    as: WATCH_FORMS,
    protobuf: store.definition.schema === undefined,
    stream: true,
  });
  if (request.wantsObjects) {
    const sink = new ObjectSink();
    const watcher = await openWatch<ObjectEvent>(call, running, {
      sink,
      encoder: objectEncoder(store, form),
      selection,
    });
    const leave = follow(call, running, watcher as Watcher<never>);
    return { kind: 'watch', status: 200, headers: {}, events: sink.batches(leave) };
  }
  const sink = new FrameSink(running.rounds);
  const encoder = frameEncoder(store, form, includeObjectOf(params));
  const watcher = await openWatch<Uint8Array>(call, running, { sink, encoder, selection });
  const leave = follow(call, running, watcher as Watcher<never>);
  const isProtobuf = form.serialization === 'protobuf';
  const contentType = isProtobuf ? 'application/vnd.kubernetes.protobuf;stream=watch' : 'application/json';
  const run = (out: ByteSink): Promise<void> => sink.run(out).finally(leave);
  if (wantsWebSocket(request))
    return overWebSocket({ request, crypto, clock: store.services.clock }, watchMessages(request, isProtobuf), {
      run,
      dispose: leave,
    });
  return {
    kind: 'stream',
    status: 200,
    headers: { 'content-type': contentType, 'cache-control': CACHE_CONTROL, ...warningHeaders(scope.warnings) },
    run,
  };
}

function follow(call: Call, running: RunningWatches, watcher: Watcher<never>): () => void {
  const { signal } = call.scope.request;
  const end = (): void => watcher.end();
  const unhook = onAbort(signal, end);
  if (signal.aborted) watcher.end();
  running.add(watcher, call.store);
  return () => {
    unhook();
    running.delete(watcher);
    watcher.end();
  };
}

interface WatchOpening<T> {
  readonly sink: WatchSink<T>;
  readonly encoder: WatchEncoder<T>;
  readonly selection: Selection;
}

/** Throws 429 for watches over the network beyond the user's quota. */
async function openWatch<T>(call: Call, running: RunningWatches, opening: WatchOpening<T>): Promise<Watcher<T>> {
  const { request, user } = call.scope;
  if (request.wantsObjects) return await startWatch(call, running, opening);
  const leave = running.quota.enter(user, watchWeight(request, opening.selection));
  try {
    const watcher = await startWatch(call, running, opening, leave);
    if (watcher.ended) leave();
    return watcher;
  } catch (error) {
    leave();
    throw error;
  }
}

/** `onEnd` is called when the watch ends, unless it has when this resolves. */
async function startWatch<T>(
  call: Call,
  { minTimeoutMs }: RunningWatches,
  { sink, encoder, selection }: WatchOpening<T>,
  onEnd?: () => void,
): Promise<Watcher<T>> {
  const { store, scope } = call;
  const { params, info } = scope;
  const { clock, random } = store.services;
  const requested = revisionParam(params);
  const revision = requested ?? 0;
  const wantsInitial = params.has('sendInitialEvents') ? isTrue(params.get('sendInitialEvents')) : revision === 0;
  const timeoutSeconds = Number(int64Param(params, 'timeoutSeconds') ?? 0);
  const longestMs = minTimeoutMs * (1 + random.next()) * (scope.request.wantsObjects ? INSIDE_FACTOR : 1);
  const timeoutMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 : longestMs;
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
      spareBookmarks: scope.request.wantsObjects,
      timeoutMs,
      isBehind: () => events.isBehind(),
    },
    clock,
  );
  const events = eventsOf(store, {
    fail: (error) => watcher.fail(statusOf(error, store.services.log)),
    giveUp: scope.request.wantsObjects ? undefined : () => watcher.end(),
  });
  // A watch from a future revision begins there. One that starts with the present state must know the newest revision.
  if (requested === undefined || params.has('sendInitialEvents')) await untilFresh(store, requested);
  const trigger = triggerOf(store, selection);
  const listen = (listener: CacheListener): (() => void) => {
    const stop = events.listen(listener, trigger);
    return () => {
      stop();
      onEnd?.();
    };
  };
  const start: WatchStart = {
    revision,
    wantsInitial,
    under,
    name: selection.name,
    marksEnd: params.has('sendInitialEvents') && wantsInitial && bookmarks,
  };
  await prepareStart(call, start);
  const counted = wantsInitial ? await countedCells(call, selection, initialCells(call, start)) : [];
  await inBudget(call, counted, async () => {
    const ahead = await encodeAhead(call, watcher, start);
    if (ahead !== undefined || !selection.isEverything) await prepareStart(call, start);
    startWatching(call, watcher, { ...start, ahead });
    // In the same turn: a change between the first state and the listener would be lost.
    watcher.start(listen);
  });
  return watcher;
}

/** The field that selects the fewest changes for a watch: the name, or another field that must equal one value. */
function triggerOf(store: GenericStore, { fields, name }: Selection): ListenerTrigger | undefined {
  const field = name === undefined ? fields.find(({ operator }) => operator === '=')?.field : 'metadata.name';
  if (field === undefined) return undefined;
  const { value } = fields.find((requirement) => requirement.field === field && requirement.operator === '=')!;
  if (field === 'metadata.name') return { field, value, valueOf: nameOf };
  return {
    field: `${store.definition.reading?.key ?? store.apiVersion} ${field}`,
    value,
    valueOf: (cell) => store.fields(cell)[field],
  };
}

/** The object name in a key. */
function nameOf({ key }: RevisionCell): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
