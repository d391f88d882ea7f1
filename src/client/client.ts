/**
 * The typed client every component uses. Two transports implement it: REST over HTTPS and in-process. Upstream:
 * client-go's clientset and dynamic client in one.
 *
 * Objects returned by the in-process transport and by informers are shared and immutable. All calls reject with
 * `StatusError` when the server answers with one, with the transport's error otherwise; all take an abort signal.
 */
import type { ResourceInfo } from '../api/resource-info.ts';
import type { KubernetesObject, ObjectList, Stored } from '../api/object.ts';
import type { Duplex } from '../platform/streams.ts';

/** Names one object; `namespace` is absent for cluster-scoped ones. */
export interface ObjectKey {
  readonly namespace?: string;
  readonly name: string;
}

/** Options of list. Selectors in their string form. */
export interface ListOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  /** Objects come as PartialObjectMetadata: nothing but their metadata is decoded or sent. */
  readonly metadataOnly?: boolean;
  readonly signal?: AbortSignal;
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue'> {
  readonly allowWatchBookmarks?: boolean;
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
}

/** A watch event. On ERROR `object` is a Status; on BOOKMARK only its resourceVersion (and annotations) means anything. */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

export interface WriteOptions {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  readonly subresource?: string;
  readonly signal?: AbortSignal;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** A patch with its media type. */
export type Patch =
  | { readonly type: 'json'; readonly operations: readonly unknown[] }
  | { readonly type: 'merge' | 'strategic'; readonly patch: object }
  | { readonly type: 'apply'; readonly object: object; readonly fieldManager: string; readonly force?: boolean };

/** All verbs on one resource. */
export interface ResourceClient<T extends KubernetesObject> {
  readonly info: ResourceInfo<T>;
  /** Whether informers begin by a watch with `sendInitialEvents` in place of a list. Upstream: the feature WatchListClient. */
  readonly watchList?: boolean;
  get(key: ObjectKey, options?: { resourceVersion?: string; signal?: AbortSignal }): Promise<Stored<T>>;
  list(options?: ListOptions): Promise<ObjectList<Stored<T>>>;
  /** Ends when the server ends it; breaking out of the loop, or the signal, stops it. Batches keep order. */
  watch(options: WatchOptions): AsyncIterable<readonly WatchEvent<Stored<T>>[]>;
  /**
   * Namespace and name come from the object's metadata. What is never stored answers without name and uid (reviews), and
   * what a dry run creates without resourceVersion.
   */
  create(object: T, options?: WriteOptions): Promise<Stored<T>>;
  update(object: T, options?: WriteOptions): Promise<Stored<T>>;
  updateStatus(object: T, options?: WriteOptions): Promise<Stored<T>>;
  patch(key: ObjectKey, patch: Patch, options?: WriteOptions): Promise<Stored<T>>;
  /** Resolves to the terminating object, or to a Status when the object is deleted. */
  delete(key: ObjectKey, options?: DeleteOptions): Promise<unknown>;
  deleteCollection(options: ListOptions & DeleteOptions): Promise<unknown>;
  /** GET on a sub-resource, e.g. scale. */
  getSubresource<S>(key: ObjectKey, subresource: string, options?: SubresourceOptions): Promise<S>;
  /** POST to a sub-resource: binding, eviction, token. */
  createSubresource<S>(key: ObjectKey, subresource: string, body: object, options?: WriteOptions): Promise<S>;
}

/** How a sub-resource is read. */
export interface SubresourceOptions {
  readonly signal?: AbortSignal | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
}

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; absent where the transport has no headers. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface Client {
  resource<T extends KubernetesObject>(info: ResourceInfo<T>): ResourceClient<T>;
  /** Any request with raw path (and query): discovery, logs, version. Rejects on a status of 400 and above. */
  raw(request: {
    /** Default GET. */
    method?: string;
    path: string;
    body?: unknown;
    headers?: Readonly<Record<string, string>>;
    signal?: AbortSignal;
  }): Promise<RawAnswer>;
  /** Opens an upgraded connection (exec, attach, port-forward) where the transport can. */
  upgrade(request: { path: string; headers: Readonly<Record<string, string>>; signal?: AbortSignal }): Promise<Duplex>;
}
