/**
 * Contract of informers: a local, indexed, eventually consistent copy of one resource (or a selection of it), kept by
 * list and watch. Upstream: client-go's SharedIndexInformer and Lister in one.
 *
 * Invariants: handlers run in revision order after the local copy holds the change; every handler registered sees an
 * `onAdd` for what is already there; objects are shared and immutable.
 */
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { ObjectKey } from './client.ts';

/** Called on changes. Upstream: ResourceEventHandler. Must not throw and must return quickly: put a key in a queue. */
export interface InformerHandler<T extends KubernetesObject> {
  onAdd?(object: Stored<T>, isInInitialList: boolean): void;
  onUpdate?(oldObject: Stored<T>, newObject: Stored<T>): void;
  /** `finalStateUnknown`: the deletion itself was missed; `object` is the last known state. */
  onDelete?(object: Stored<T>, finalStateUnknown: boolean): void;
}

/** A handler that calls the same function for added, updated and deleted objects. */
export function onEveryChange<T extends KubernetesObject>(handle: (object: Stored<T>) => void): InformerHandler<T> {
  return { onAdd: handle, onUpdate: (_, object) => handle(object), onDelete: handle };
}

/** Reads and events of one resource. */
export interface Informer<T extends KubernetesObject> {
  readonly info: ResourceInfo<T>;
  hasSynced(): boolean;
  /** Resolves at the first complete list; rejects when aborted. */
  waitForSync(signal?: AbortSignal): Promise<void>;
  get(key: ObjectKey): Stored<T> | undefined;
  /** All objects, or those of one namespace. The array is the caller's, the objects are not. */
  list(namespace?: string): Stored<T>[];
  byIndex(index: string, value: string): Stored<T>[];
  /** Adds an index before start or later; `keys` must be pure. Adding the same name again is ignored. */
  addIndex(name: string, keys: (object: Stored<T>) => readonly string[]): void;
  addHandler(handler: InformerHandler<T>): () => void;
  /** Resolves when the copy has reached this resourceVersion; rejects when aborted. For reading one's own writes. */
  waitForRevision(resourceVersion: string, signal?: AbortSignal): Promise<void>;
  /** Newest resourceVersion seen. */
  lastRevision(): string;
}

/** Selection and projection of an informer; informers of equal selection are shared. */
export interface InformerOptions<T extends KubernetesObject> {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Nothing but the metadata of objects is asked for; kind and version are those of the resource. */
  readonly metadataOnly?: boolean;
  /** Drops what the users of this informer never read, to save memory. Sharing is by name. */
  readonly projection?: { readonly name: string; readonly apply: (object: Stored<T>) => Stored<T> };
}

/** Makes and shares informers. */
export interface InformerFactory {
  informer<T extends KubernetesObject>(info: ResourceInfo<T>, options?: InformerOptions<T>): Informer<T>;
  /** The informer of all whole objects of a resource, if one exists. */
  existing<T extends KubernetesObject>(info: ResourceInfo<T>): Informer<T> | undefined;
  /** Starts the informers created since the last call; they stop with the signal. */
  start(signal: AbortSignal): void;
  /** Resolves when all started ones have synced. */
  waitForSync(signal?: AbortSignal): Promise<void>;
}
