/** WATCH. Upstream: endpoints/handlers/watch.go over the cacher. */
import { onAbort } from '../../base/abort.ts';
import { expired } from '../../api/status-error.ts';
import type { ApiResponse, ObjectEvent } from '../../api/transport.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { untilFresh } from '../generic-registry/freshness.ts';
import { type Selection, selectionOf, selects } from '../generic-registry/selection.ts';
import { negotiate } from '../negotiation.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { background } from '../../platform/unexpected.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { ByteSink } from '../../platform/streams.ts';
import { isTrue } from '../request-info.ts';
import { eventsOf } from '../generic-registry/events.ts';
import { CACHE_CONTROL, statusOf } from '../responses.ts';
import { warningHeaders } from '../warning-headers.ts';
import type { CacheEvent } from '../watch-cache/cache-event.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { ListenerTrigger } from '../watch-cache/listeners.ts';
import { Watcher, type WatchEncoder, type WatchSink } from '../watch-cache/watcher.ts';
import { paceOf, Turns } from '../turns.ts';
import { FlushRounds } from '../watch-cache/flush-rounds.ts';
import { FrameSink, ObjectSink } from '../watch-cache/watch-sinks.ts';
import { overWebSocket, wantsWebSocket, watchMessages } from '../streaming/websocket-stream.ts';
import type { Call } from './endpoint.ts';
import { countedCells } from './first-state.ts';
import { inBudget } from './list.ts';
import { checkListOptions, int64Param, revisionParam } from './options.ts';
import { includeObjectOf } from './table.ts';
import { frameEncoder, objectEncoder } from './watch-encoders.ts';
import { WatchQuota, watchWeight } from './watch-quota.ts';

/** As upstream: a watch lasts 30 to 60 minutes unless the client asks for another time. */
const DEFAULT_MIN_TIMEOUT_MS = 1_800_000;
/** Watches inside the process last this much longer: they cannot break unnoticed, nor move to another server. */
const INSIDE_FACTOR = 24;

const WATCH_FORMS = ['Table', 'PartialObjectMetadata'];

/** An initial state of this many objects or bytes is encoded in steps. */
const MANY_CELLS = 500;
const MANY_BYTES = 256 * 1024;

const BOOKMARK_PERIOD_MS = 60_000;
/** Watchers inside the process need bookmarks only when changes are dropped: they are checked this many times less often. */
const INSIDE_BOOKMARK_BEATS = 4;
/** Bookmarks written between two turns of other work. */
const BOOKMARKS_AT_ONCE = 500;

/**
 * The open watches: they end when the server stops, and one timer sends their bookmarks. A node has half a dozen watches; a
 * timer for each would wake a large server all the time.
 */
export class RunningWatches {
  readonly #running = new Map<Watcher<never>, GenericStore>();
  /** Watches that are checked at every beat. Those inside this process, which are many more, are not. */
  readonly #eager = new Map<Watcher<never>, GenericStore>();
  readonly #clock: Clock;
  readonly #log: Log;
  /** Counts network watches of users. */
  readonly quota = new WatchQuota();
  /** Schedules the writes of network watches. */
  readonly rounds: FlushRounds;
  #cancelBeat: (() => void) | undefined;
  #beats = 0;

  /** Shortest time of a watch without a timeout of its own. */
  readonly minTimeoutMs: number;

  constructor({ clock, log }: Pick<BasePlatform, 'clock' | 'log'>, minTimeoutMs = DEFAULT_MIN_TIMEOUT_MS) {
    this.#clock = clock;
    this.#log = log;
    this.minTimeoutMs = minTimeoutMs;
    this.rounds = new FlushRounds(clock, log);
  }

  get size(): number {
    return this.#running.size;
  }

  add(watcher: Watcher<never>, store: GenericStore): void {
    this.#running.set(watcher, store);
    if (!watcher.sparesBookmarks) this.#eager.set(watcher, store);
    this.#cancelBeat ??= this.#clock.setTicker(BOOKMARK_PERIOD_MS, () => {
      background(this.#log, 'bookmarks could not be sent', this.#bookmarkAll());
    });
  }

  delete(watcher: Watcher<never>): void {
    this.#running.delete(watcher);
    this.#eager.delete(watcher);
    if (this.#running.size > 0) return;
    this.#cancelBeat?.();
    this.#cancelBeat = undefined;
  }

  /** Ends the watches of one resource, or all. */
  endAll(of?: GenericStore): void {
    for (const [watcher, store] of this.#running) if (of === undefined || of === store) watcher.end();
  }

  async #bookmarkAll(): Promise<void> {
    const isForAll = ++this.#beats % INSIDE_BOOKMARK_BEATS === 0;
    let count = 0;
    for (const [watcher, { services, cache }] of [...(isForAll ? this.#running : this.#eager)]) {
      watcher.bookmark(services.hub.revision, cache.rememberedSince);
      if (++count % BOOKMARKS_AT_ONCE === 0) await this.#clock.yield();
    }
  }
}

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

interface Opening<T> {
  readonly sink: WatchSink<T>;
  readonly encoder: WatchEncoder<T>;
  readonly selection: Selection;
}

/** Throws 429 for watches over the network beyond the user's quota. */
async function openWatch<T>(call: Call, running: RunningWatches, opening: Opening<T>): Promise<Watcher<T>> {
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
  { sink, encoder, selection }: Opening<T>,
  onEnd?: () => void,
): Promise<Watcher<T>> {
  const { store, scope } = call;
  const { params, info } = scope;
  const { clock, random } = store.services;
  const given = revisionParam(params);
  const revision = given ?? 0;
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
  if (given === undefined || params.has('sendInitialEvents')) await untilFresh(store, given);
  const trigger = triggerOf(store, selection);
  const start: Beginning = {
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
    begin(call, watcher, { ...start, ahead });
  });
  watcher.start((listener) => {
    const stop = events.listen(listener, trigger);
    return () => {
      stop();
      onEnd?.();
    };
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

interface Beginning {
  readonly revision: number;
  readonly wantsInitial: boolean;
  readonly under: string;
  readonly marksEnd: boolean;
  readonly name: string | undefined;
  /** Events of the initial state that were encoded in advance. */
  readonly ahead?: ReadonlyMap<RevisionCell, unknown> | undefined;
}

/** One named object is looked up; all others are picked from the whole list. */
function initialCells({ store, scope }: Call, { under, name }: Beginning): readonly RevisionCell[] {
  const { namespace } = scope.info;
  if (name === undefined || (store.info.namespaced && namespace === '')) return store.cache.list(under);
  const cell = store.cache.get(store.keyOf({ namespace, name }));
  return cell === undefined ? [] : [cell];
}

/** Converts the initial objects, and again as long as new ones arrive meanwhile. */
async function prepareStart(call: Call, start: Beginning): Promise<void> {
  const { store } = call;
  if (store.definition.reading?.convert === undefined) return;
  const cells = (): readonly RevisionCell[] => {
    if (start.wantsInitial) return initialCells(call, start);
    const from = start.revision === 0 ? store.services.hub.revision : start.revision;
    return (store.cache.changesAfter(from) ?? []).flatMap(cellsOf);
  };
  for (let work = store.prepare(cells()); work !== undefined; work = store.prepare(cells())) await work;
}

/**
 * Encodes the events of a large initial state in steps, since it must be sent as a whole at one revision. Objects that change
 * meanwhile are encoded when it is sent.
 */
async function encodeAhead<T>(
  call: Call,
  watcher: Watcher<T>,
  start: Beginning,
): Promise<ReadonlyMap<RevisionCell, T | undefined> | undefined> {
  if (!start.wantsInitial) return undefined;
  const cells = initialCells(call, start);
  if (cells.length < MANY_CELLS && cells.reduce((sum, cell) => sum + cell.byteLength, 0) < MANY_BYTES) return undefined;
  const turns = new Turns(paceOf(call.scope.request, call.store.services.clock));
  const ahead = new Map<RevisionCell, T | undefined>();
  for (const cell of cells) {
    const due = turns.next();
    if (due !== undefined) await due;
    if (watcher.ended) return undefined;
    ahead.set(cell, watcher.encodeInitial(cell));
  }
  return ahead;
}

function cellsOf({ cell, previous }: CacheEvent): RevisionCell[] {
  return previous === undefined ? [cell] : [cell, previous];
}

function begin<T>(call: Call, watcher: Watcher<T>, start: Beginning): void {
  const { store } = call;
  const { hub } = store.services;
  const { revision, wantsInitial, marksEnd, ahead } = start;
  if (wantsInitial) {
    watcher.sendInitial(initialCells(call, start), { revision: hub.revision, marksEnd, ahead });
    return;
  }
  const from = revision === 0 ? hub.revision : revision;
  const missed = store.cache.changesAfter(from);
  if (missed === undefined)
    watcher.fail(expired(`too old resource version: ${from} (${store.cache.rememberedSince})`).status);
  else watcher.resume(missed, from, hub.revision);
}
