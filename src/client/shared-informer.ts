/**
 * An informer kept by a reflector. Upstream: client-go tools/cache.sharedIndexInformer.
 *
 * Differs on purpose: handlers run at once, in the turn in which the change is applied, instead of on queues of their own;
 * there is no periodic resync, and a relist calls `onUpdate` only for objects whose revision changed.
 */
import { abortable } from '../base/abort.ts';
import { groupResourceOf } from '../api/resource-info.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Random } from '../platform/random.ts';
import type { ResourceClient } from './client.ts';
import type { Informer, InformerHandler, InformerOptions } from './informer.ts';
import { formatKey, keyOfObject, ObjectStore } from './object-store.ts';
import { runReflector, type ReflectorTarget } from './reflector.ts';
import { compareRevisions } from './revisions.ts';

/** What an informer is made from. */
export interface SharedInformerDeps<T extends KubernetesObject> {
  readonly client: ResourceClient<T>;
  readonly options: InformerOptions<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** An informer that can be run. */
export interface SharedInformer<T extends KubernetesObject> extends Informer<T> {
  /** Lists and watches until the signal aborts. Call once. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

interface RevisionWaiter {
  readonly revision: string;
  readonly resolve: () => void;
}

/** Makes an informer that does nothing until `run`. */
export function createSharedInformer<T extends KubernetesObject>(deps: SharedInformerDeps<T>): SharedInformer<T> {
  const store = new ObjectStore<T>();
  const handlers = new Set<InformerHandler<T>>();
  const synced = Promise.withResolvers<void>();
  let hasSynced = false;
  let lastRevision = '';
  let waiters: RevisionWaiter[] = [];
  const project = deps.options.projection?.apply ?? ((object: T) => object);
  const { info } = deps.client;

  function call(handler: InformerHandler<T>, notify: (handler: InformerHandler<T>) => void): void {
    try {
      notify(handler);
    } catch (error) {
      deps.log.error('an informer handler threw', { resource: groupResourceOf(info), err: error });
    }
  }
  function notifyAll(notify: (handler: InformerHandler<T>) => void): void {
    for (const handler of [...handlers]) call(handler, notify);
  }
  function put(raw: T): void {
    const object = project(raw);
    const old = store.set(keyOfObject(object), object);
    if (old === undefined) notifyAll((handler) => handler.onAdd?.(object, !hasSynced));
    else notifyAll((handler) => handler.onUpdate?.(old, object));
  }
  function advance(revision: string): void {
    if (revision !== '' && compareRevisions(revision, lastRevision) > 0) lastRevision = revision;
    if (waiters.length === 0) return;
    const reached = waiters.filter((waiter) => compareRevisions(waiter.revision, lastRevision) <= 0);
    if (reached.length === 0) return;
    waiters = waiters.filter((waiter) => !reached.includes(waiter));
    for (const waiter of reached) waiter.resolve();
  }

  const target: ReflectorTarget<T> = {
    replace(items, revision) {
      const gone = new Set(store.keys());
      for (const item of items) {
        const key = keyOfObject(item);
        gone.delete(key);
        if (store.get(key)?.metadata.resourceVersion !== item.metadata.resourceVersion) put(item);
      }
      for (const key of gone) {
        const old = store.delete(key);
        if (old !== undefined) notifyAll((handler) => handler.onDelete?.(old, true));
      }
      advance(revision);
      hasSynced = true;
      synced.resolve();
    },
    apply(type, object, revision) {
      if (type !== 'DELETED') put(object);
      else if (store.delete(keyOfObject(object)) !== undefined) {
        const last = project(object);
        notifyAll((handler) => handler.onDelete?.(last, false));
      }
      advance(revision);
    },
    bookmark: advance,
  };

  return {
    info,
    hasSynced: () => hasSynced,
    waitForSync: (signal) => abortable(synced.promise, signal),
    get: (key) => store.get(formatKey(key)),
    list: (namespace) => store.list(namespace),
    byIndex: (index, value) => store.byIndex(index, value),
    addIndex: (name, keys) => store.addIndex(name, keys),
    addHandler(handler) {
      handlers.add(handler);
      for (const object of store.list()) call(handler, () => handler.onAdd?.(object, true));
      return () => void handlers.delete(handler);
    },
    async waitForRevision(resourceVersion, signal) {
      if (compareRevisions(resourceVersion, lastRevision) <= 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const waiter = { revision: resourceVersion, resolve };
      waiters.push(waiter);
      try {
        await abortable(promise, signal);
      } finally {
        waiters = waiters.filter((other) => other !== waiter);
      }
    },
    lastRevision: () => lastRevision,
    run: (signal) => {
      const { namespace, labelSelector, fieldSelector, metadataOnly } = deps.options;
      const selection = {
        ...(namespace === undefined ? {} : { namespace }),
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
        ...(metadataOnly === undefined ? {} : { metadataOnly }),
      };
      return runReflector({ ...deps, target, selection }, signal);
    },
  };
}
