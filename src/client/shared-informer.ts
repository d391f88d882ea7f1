/**
 * An informer kept by a reflector. Upstream: client-go tools/cache.sharedIndexInformer.
 *
 * Differs on purpose: handlers run at once, in the turn in which the change is applied, instead of on queues of their own;
 * there is no periodic resync, and a relist calls `onUpdate` only for objects whose revision changed.
 */
import { abortable } from '../base/abort.ts';
import { groupResourceOf, type ResourceInfo } from '../api/resource-info.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Random } from '../platform/random.ts';
import type { ObjectKey, ResourceClient } from './client.ts';
import type { Informer, InformerHandler, InformerOptions } from './informer.ts';
import { formatKey, keyOfObject, ObjectStore } from './object-store.ts';
import { runReflector, type ReflectorTarget } from './reflector.ts';
import { compareRevisions } from './revisions.ts';

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
  return new ReflectedInformer(deps);
}

/** A class: each simulated node has a handful. */
class ReflectedInformer<T extends KubernetesObject> implements SharedInformer<T>, ReflectorTarget<Stored<T>> {
  readonly #deps: SharedInformerDeps<T>;
  readonly #store = new ObjectStore<Stored<T>>();
  readonly #handlers = new Set<InformerHandler<T>>();
  /** Undefined once synced. */
  #syncing: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>();
  #lastRevision = '';
  #waiters: readonly RevisionWaiter[] = [];

  constructor(deps: SharedInformerDeps<T>) {
    this.#deps = deps;
  }

  get info(): ResourceInfo<T> {
    return this.#deps.client.info;
  }

  hasSynced(): boolean {
    return this.#syncing === undefined;
  }

  waitForSync(signal?: AbortSignal): Promise<void> {
    return abortable(this.#syncing?.promise ?? Promise.resolve(), signal);
  }

  get(key: ObjectKey): Stored<T> | undefined {
    return this.#store.get(formatKey(key));
  }

  list(namespace?: string): Stored<T>[] {
    return this.#store.list(namespace);
  }

  byIndex(index: string, value: string): Stored<T>[] {
    return this.#store.byIndex(index, value);
  }

  addIndex(name: string, keys: (object: Stored<T>) => readonly string[]): void {
    this.#store.addIndex(name, keys);
  }

  addHandler(handler: InformerHandler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.#store.list()) this.#call(handler, () => handler.onAdd?.(object, true));
    return () => this.#handlers.delete(handler);
  }

  async waitForRevision(resourceVersion: string, signal?: AbortSignal): Promise<void> {
    if (compareRevisions(resourceVersion, this.#lastRevision) <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { revision: resourceVersion, resolve };
    this.#waiters = this.#waiters.concat(waiter);
    try {
      await abortable(promise, signal);
    } finally {
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
    }
  }

  lastRevision(): string {
    return this.#lastRevision;
  }

  run(signal: AbortSignal): Promise<void> {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = this.#deps.options;
    const selection = {
      namespace,
      labelSelector,
      fieldSelector,
      metadataOnly,
    };
    return runReflector({ ...this.#deps, target: this, selection }, signal);
  }

  replace(items: readonly Stored<T>[], revision: string): void {
    const gone = new Set(this.#store.keys());
    for (const item of items) {
      const key = keyOfObject(item);
      gone.delete(key);
      if (this.#store.get(key)?.metadata.resourceVersion !== item.metadata.resourceVersion) this.#put(item);
    }
    for (const key of gone) {
      const old = this.#store.delete(key);
      if (old !== undefined) this.#notifyAll((handler) => handler.onDelete?.(old, true));
    }
    this.bookmark(revision);
    this.#syncing?.resolve();
    this.#syncing = undefined;
  }

  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Stored<T>, revision: string): void {
    if (type !== 'DELETED') this.#put(object);
    else if (this.#store.delete(keyOfObject(object)) !== undefined) {
      const last = this.#project(object);
      this.#notifyAll((handler) => handler.onDelete?.(last, false));
    }
    this.bookmark(revision);
  }

  bookmark(revision: string): void {
    if (revision !== '' && compareRevisions(revision, this.#lastRevision) > 0) this.#lastRevision = revision;
    if (this.#waiters.length === 0) return;
    const reached = this.#waiters.filter((waiter) => compareRevisions(waiter.revision, this.#lastRevision) <= 0);
    if (reached.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !reached.includes(waiter));
    for (const waiter of reached) waiter.resolve();
  }

  #project(object: Stored<T>): Stored<T> {
    return this.#deps.options.projection?.apply(object) ?? object;
  }

  #put(raw: Stored<T>): void {
    const object = this.#project(raw);
    const old = this.#store.set(keyOfObject(object), object);
    const isInInitialList = !this.hasSynced();
    if (old === undefined) this.#notifyAll((handler) => handler.onAdd?.(object, isInInitialList));
    else this.#notifyAll((handler) => handler.onUpdate?.(old, object));
  }

  #notifyAll(notify: (handler: InformerHandler<T>) => void): void {
    for (const handler of [...this.#handlers]) this.#call(handler, notify);
  }

  #call(handler: InformerHandler<T>, notify: (handler: InformerHandler<T>) => void): void {
    try {
      notify(handler);
    } catch (error) {
      this.#deps.log.unexpected('an informer handler threw', error, { resource: groupResourceOf(this.info) });
    }
  }
}
