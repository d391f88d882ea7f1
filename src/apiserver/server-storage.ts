/**
 * The part of the API server that everything else of it stands on: store, caches, registry of resources and the object
 * store over them. Made before the server, because authorizers, admission plugins and resource definitions use it.
 */
import type { BasePlatform } from '../platform/platform.ts';
import type { HistoryLog } from '../storage/history-log.ts';
import type { Store } from '../storage/store.ts';
import { createCachedObjectStore } from './generic-registry/cached-object-store.ts';
import { ResourceRegistry } from './generic-registry/resource-registry.ts';
import { HistoryRecorder } from './history/history-recorder.ts';
import type { ObjectStore } from './registry/object-store.ts';
import { StorageMetrics } from './storage-metrics.ts';
import { CacheHub } from './watch-cache/cache-hub.ts';

export interface ServerStorage {
  /** Measured. */
  readonly store: Store;
  readonly metrics: StorageMetrics;
  readonly hub: CacheHub;
  /** Absent: no history is kept. */
  readonly history: HistoryRecorder | undefined;
  readonly registry: ResourceRegistry;
  /** Finds nothing before the server has started; listeners hear of everything then. */
  readonly objects: ObjectStore;
}

export interface ServerStorageDeps {
  readonly store: Store;
  readonly platform: BasePlatform;
  /** Where the history of objects is kept. It is its owner's to close. */
  readonly history?: HistoryLog | undefined;
}

/** Constructs it; nothing is read yet. */
export function createServerStorage(deps: ServerStorageDeps): ServerStorage {
  const { platform } = deps;
  const metrics = new StorageMetrics(platform.clock);
  const store = metrics.measure(deps.store);
  const history = deps.history && recorderOf(deps.history, store, platform);
  const hub = new CacheHub({
    store,
    clock: platform.clock,
    log: platform.log.child('watch-cache'),
    recorder: history,
  });
  const registry = new ResourceRegistry(platform.log);
  metrics.follow(registry);
  return { store, metrics, hub, history, registry, objects: createCachedObjectStore(registry) };
}

function recorderOf(log: HistoryLog, store: Store, { clock, metrics, log: logger }: BasePlatform): HistoryRecorder {
  return new HistoryRecorder({ log, store, clock, metrics, logger: logger.child('history') });
}
