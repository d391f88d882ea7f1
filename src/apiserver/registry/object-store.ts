/**
 * The API server's own view of its objects, for admission, authorizers, allocators and sub-resources: reads from the
 * watch cache, writes through the whole generic path (strategy, admission, managed fields) or, where upstream bypasses
 * them, straight to the store.
 */
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { RequestContext } from '../request-context.ts';

/** Reads and guarded updates of stored objects. Objects are immutable. */
export interface ObjectStore {
  /** Newest cached object. */
  get<T extends KubernetesObject>(info: ResourceInfo<T>, namespace: string, name: string): Stored<T> | undefined;
  list<T extends KubernetesObject>(info: ResourceInfo<T>, namespace?: string): readonly Stored<T>[];
  /** The same; other requests get a turn by `pause` while many bytes are decoded. */
  listInTurns<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    namespace: string,
    pause: () => Promise<void> | undefined,
  ): Promise<readonly Stored<T>[]>;
  /** Calls back on every change after the cache holds it; also for all existing objects, unless `onlyLater`. */
  onChange<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    listener: (object: Stored<T> | undefined, old: Stored<T> | undefined) => void,
    options?: { readonly onlyLater: boolean },
  ): () => void;
  /** Reads from the store itself (linearizable), for decisions that must not be stale. */
  getFresh<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    namespace: string,
    name: string,
  ): Promise<Stored<T> | undefined>;
  /** Compare-and-swap update with retries on conflict: `change` gets the newest object and returns a changed copy, or undefined to leave it. Strategy and validation of the main resource are not run. */
  guaranteedUpdate<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    namespace: string,
    name: string,
    change: (current: Stored<T>) => T | undefined,
  ): Promise<Stored<T>>;
  /**
   * Creates the object directly in the store unless it exists; returns the stored one. For bootstrap objects. `isCanonical`:
   * decoding its parts yields them as they are, so they are not decoded, and the stored object shares all but the metadata.
   */
  ensure<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    object: T,
    options?: { readonly isCanonical: boolean },
  ): Promise<Stored<T>>;
  /** Deletes through the generic path (grace, finalizers, preconditions). */
  delete(
    info: ResourceInfo,
    key: { namespace: string; name: string },
    options: object,
    context: RequestContext,
  ): Promise<Stored<KubernetesObject>>;
}
