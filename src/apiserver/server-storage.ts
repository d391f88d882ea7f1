/**
 * The foundation of the API server: store, caches, registry of resources and the object store over them. Created
 * before the server, because authorizers, admission plugins and resource definitions use it.
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
  /** The store with metrics. */
  readonly store: Store;
  readonly metrics: StorageMetrics;
  readonly hub: CacheHub;
  /** Absent: no history is kept. */
  readonly history: HistoryRecorder | undefined;
  readonly registry: ResourceRegistry;
  /** Finds nothing before the server has started; its listeners then get all objects. */
  readonly objects: ObjectStore;
}

export interface ServerStorageDeps {
  readonly store: Store;
  readonly platform: BasePlatform;
  /** Where the history of objects is kept. The owner closes it. */
  readonly history?: HistoryLog | undefined;
}

/** Reads nothing yet. */
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
