/** The objects with which a watch begins, as events. Upstream: sendInitialEvents, cacheInterval. */
import { expired } from '../../api/status-error.ts';
import { paceOf, Turns } from '../turns.ts';
import type { CacheEvent } from '../watch-cache/cache-event.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { Watcher } from '../watch-cache/watcher.ts';
import type { Call } from './endpoint.ts';

/** An initial state of this many objects or bytes is encoded in steps. */
const MANY_CELLS = 500;

const MANY_BYTES = 256 * 1024;

export interface WatchStart {
  readonly revision: number;
  readonly wantsInitial: boolean;
  readonly under: string;
  readonly marksEnd: boolean;
  readonly name: string | undefined;
  /** Events of the initial state that were encoded in advance. */
  readonly ahead?: ReadonlyMap<RevisionCell, unknown> | undefined;
}

/** One named object is looked up; all others are picked from the whole list. */
export function initialCells({ store, scope }: Call, { under, name }: WatchStart): readonly RevisionCell[] {
  const { namespace } = scope.info;
  if (name === undefined || (store.info.namespaced && namespace === '')) return store.cache.list(under);
  const cell = store.cache.get(store.keyOf({ namespace, name }));
  return cell === undefined ? [] : [cell];
}

/** Converts the initial objects, and again as long as new ones arrive meanwhile. */
export async function prepareStart(call: Call, start: WatchStart): Promise<void> {
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
export async function encodeAhead<T>(
  call: Call,
  watcher: Watcher<T>,
  start: WatchStart,
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

export function startWatching<T>(call: Call, watcher: Watcher<T>, start: WatchStart): void {
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
