/**
 * ConfigMaps and Secrets that the node's pods refer to, each kept up to date by one watch as long as a pod refers to
 * it. Upstream: pkg/kubelet/util/manager (watch_based_manager.go).
 *
 * Invariants: an object of several pods is watched once; an immutable object is read once and not watched; NotFound
 * comes only from the server or from the complete list of a watch. Differs: the first `get` reads the object directly
 * while the watch starts, so that the server's error (forbidden, not found) is shown at once instead of after a
 * timeout.
 */
import { fieldSelectorOf } from '../../api/field-selector.ts';
import type { ConfigMap, Pod, Secret } from '../../api/gen/core-v1.ts';
import { ConfigMaps, Secrets } from '../../api/gen/resources.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { isReason, notFound } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { runReflector } from '../../client/reflector.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { podUid } from '../types/pod-update.ts';
import { podReferences, referenceKey, type ObjectReference, type ReferencedKind } from './object-references.ts';
import { background, callEach } from '../../platform/unexpected.ts';

/** Objects by kind. */
export interface ReferencedObjects {
  ConfigMap: ConfigMap;
  Secret: Secret;
}

/** Reads referenced objects and reports their changes. */
export interface ObjectCache {
  /** The newest known object. Rejects with upstream's NotFound (`configmap "x" not found`), or the server's error. */
  get<K extends ReferencedKind>(kind: K, namespace: string, name: string): Promise<ReferencedObjects[K]>;
  /**
   * Calls back after a referenced object was added, changed or deleted. Returns a function that removes the listener.
   */
  onChange(listener: (reference: ObjectReference) => void): () => void;
  /** Keeps the objects that the pod refers to; call it again when the pod's spec changed. */
  registerPod(pod: Pod): void;
  /** Releases the pod's objects. */
  unregisterPod(podUid: string): void;
}

/** A cache that must be stopped. */
export interface WatchingObjectCache extends ObjectCache {
  /** The number of objects in the cache. */
  readonly size: number;
  stop(): void;
}

export interface ObjectCacheDeps {
  readonly client: Client;
  readonly platform: Pick<BasePlatform, 'clock' | 'random' | 'log'>;
}

const kinds: { readonly [K in ReferencedKind]: ResourceInfo<ReferencedObjects[K]> } = {
  ConfigMap: ConfigMaps,
  Secret: Secrets,
};

type Referenced = ConfigMap | Secret;

/** Nothing is read before a pod is registered or `get` is called. */
export function createObjectCache(deps: ObjectCacheDeps): WatchingObjectCache {
  const entries = new Map<string, CachedObject>();
  const byPod = new Map<string, readonly string[]>();
  const listeners = new Set<(reference: ObjectReference) => void>();
  const starts = createStarts(deps.platform);
  const changed = (reference: ObjectReference): void => {
    callEach({ log: deps.platform.log, what: 'a changed object could not be handed on' }, listeners, reference);
  };
  const release = (keys: readonly string[]): void => {
    for (const key of keys) {
      const entry = entries.get(key);
      if (entry === undefined || --entry.holders > 0) continue;
      entry.stop();
      entries.delete(key);
    }
  };
  return {
    get size() {
      return entries.size;
    },
    async get<K extends ReferencedKind>(kind: K, namespace: string, name: string): Promise<ReferencedObjects[K]> {
      const reference = { kind, namespace, name };
      const entry = entries.get(referenceKey(reference));
      return (await (entry ?? new CachedObject(deps, reference, changed)).get()) as ReferencedObjects[K];
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    registerPod(pod) {
      const uid = podUid(pod);
      const references = podReferences(pod);
      for (const reference of references) {
        const key = referenceKey(reference);
        let entry = entries.get(key);
        if (entry === undefined) entries.set(key, (entry = new CachedObject(deps, reference, changed)));
        entry.holders++;
        starts.add(entry);
      }
      release(byPod.get(uid) ?? []);
      byPod.set(uid, references.map(referenceKey));
    },
    unregisterPod(uid) {
      release(byPod.get(uid) ?? []);
      byPod.delete(uid);
    },
    stop() {
      for (const entry of entries.values()) entry.stop();
    },
  };
}

/** Watches that start in one turn of the event loop: a pod may refer to thousands of objects. */
const STARTS_PER_TURN = 16;

/** Starts watches, the first of them at once. */
function createStarts({ clock, log }: ObjectCacheDeps['platform']): { add(entry: CachedObject): void } {
  const waiting: CachedObject[] = [];
  let started = 0;
  const startAll = async (): Promise<void> => {
    while (started > 0) {
      await clock.yield();
      started = 0;
      for (const entry of waiting.splice(0, STARTS_PER_TURN)) {
        entry.start();
        started++;
      }
    }
  };
  return {
    add(entry) {
      if (started >= STARTS_PER_TURN) {
        waiting.push(entry);
        return;
      }
      entry.start();
      if (started++ === 0) background(log, 'watches of referenced objects could not be started', startAll());
    },
  };
}

/** One object, read directly until its watch has synced. */
class CachedObject {
  holders = 0;
  readonly #deps: ObjectCacheDeps;
  readonly #reference: ObjectReference;
  readonly #changed: (reference: ObjectReference) => void;
  readonly #watch = new AbortController();
  #started = false;
  #synced = false;
  #object: Referenced | undefined;
  #reading: Promise<Referenced> | undefined;

  constructor(deps: ObjectCacheDeps, reference: ObjectReference, changed: (reference: ObjectReference) => void) {
    this.#deps = deps;
    this.#reference = reference;
    this.#changed = changed;
  }

  async get(): Promise<Referenced> {
    if (!this.#synced) return (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)));
    if (this.#object === undefined) throw this.#notFound();
    return this.#object;
  }

  start(): void {
    if (this.#started || this.#watch.signal.aborted) return;
    this.#started = true;
    const { clock, random, log } = this.#deps.platform;
    const { kind, namespace, name } = this.#reference;
    background(
      log,
      'a reflector broke off',
      runReflector<Referenced>(
        {
          client: this.#deps.client.resource(kinds[kind] as ResourceInfo<Referenced>),
          selection: { namespace, fieldSelector: fieldSelectorOf({ 'metadata.name': name }) },
          target: {
            replace: (items) => this.#set(items.find((item) => item.metadata.name === name)),
            apply: (type, object) => this.#set(type === 'DELETED' ? undefined : object),
            bookmark: () => undefined,
          },
          clock,
          random: random.fork(`object-cache/${referenceKey(this.#reference)}`),
          log,
        },
        this.#watch.signal,
      ),
    );
  }

  stop(): void {
    this.#watch.abort(new Error('no pod refers to the object any more'));
  }

  #set(object: Referenced | undefined): void {
    // A result that a direct read has already returned is not a change.
    const same = this.#object?.metadata.resourceVersion === object?.metadata.resourceVersion;
    this.#synced = true;
    this.#object = object;
    if (object?.immutable === true) this.stop();
    if (!same) this.#changed(this.#reference);
  }

  async #read(): Promise<Referenced> {
    const { kind, namespace, name } = this.#reference;
    try {
      const read = await this.#deps.client.resource(kinds[kind] as ResourceInfo<Referenced>).get({ namespace, name });
      if (!this.#synced) this.#object = read;
      return this.#object ?? read;
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
      if (this.#object !== undefined) return this.#object;
      throw this.#notFound(error);
    }
  }

  /** Upstream's object managers write the kind in lower case. */
  #notFound(cause?: unknown): Error {
    const error = notFound({ group: '', resource: this.#reference.kind.toLowerCase() }, this.#reference.name);
    if (cause !== undefined) error.cause = cause;
    return error;
  }
}
