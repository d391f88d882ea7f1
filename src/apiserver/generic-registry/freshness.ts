/**
 * How fresh the caches must be for a read, and how a write notices that it started from an outdated object. Upstream:
 * the cacher's waitUntilFreshAndGetList with consistent reads, and etcd3's GuaranteedUpdate starting from cached
 * data.
 *
 * When only this process writes to the store, the caches are never behind acknowledged writes, and all of this costs
 * nothing.
 */
import { StatusError, timeout } from '../../api/status-error.ts';
import { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { GenericStore } from './generic-store.ts';

/** How long a read waits for a future revision. */
const FRESHNESS_TIMEOUT_MS = 3000;

/** Waits until the caches have reached a revision. Rejects with 504 when they do not. */
export async function waitUntilFresh(store: GenericStore, revision: number): Promise<void> {
  const { hub } = store.services;
  if (hub.revision >= revision || (await hub.waitFor(revision, FRESHNESS_TIMEOUT_MS))) return;
  const { status } = timeout(`Too large resource version: ${revision}, current: ${hub.revision}`);
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  throw new StatusError({ ...status, details: { causes, retryAfterSeconds: 1 } });
}

/**
 * Waits until the caches can serve a read at `revision` or later; undefined means everything acknowledged before the
 * read began. Returns nothing when they already can. Rejects with 504, and with `StoreError` when the store is
 * unavailable.
 */
export function untilFresh(store: GenericStore, revision: number | undefined): Promise<void> | undefined {
  const { hub, store: backend } = store.services;
  if (revision !== undefined) return hub.revision >= revision ? undefined : waitUntilFresh(store, revision);
  if (backend.latestRevision === undefined) return undefined;
  return backend.latestRevision().then((latest) => waitUntilFresh(store, latest));
}

/** Whether a cached object may be older than a write that has been acknowledged. */
export function mayBeOld(store: GenericStore): boolean {
  return store.services.store.latestRevision !== undefined;
}

/** The object currently in the store. */
export async function readNow(store: GenericStore, key: string): Promise<RevisionCell | undefined> {
  const entry = await store.services.store.get(key);
  return entry && new RevisionCell(key, entry.modRevision, entry.value);
}

/** One attempt of a write, given the current object. */
export type TryWrite<T> = (current: RevisionCell | undefined, attempt: number) => Promise<T | LostTry>;

/** The attempt lost against another writer; `current` is the object now. */
export interface LostTry {
  readonly lost: true;
  readonly current: RevisionCell | undefined;
}

/**
 * Attempts a write on the cached object, then on the newer object after each lost compare. When an attempt fails on
 * an outdated cached object, it is repeated on the stored one: no request is refused because this server's cache lags
 * behind.
 */
export async function writeFromCache<T extends object>(
  store: GenericStore,
  key: string,
  tried: TryWrite<T>,
): Promise<T> {
  let current = store.cache.get(key);
  let certain = !mayBeOld(store);
  if (current === undefined && !certain) {
    current = await readNow(store, key);
    certain = true;
  }
  for (let attempt = 1; ; attempt++) {
    try {
      const outcome = await tried(current, attempt);
      if (!('lost' in outcome)) return outcome;
      current = outcome.current;
    } catch (error) {
      if (certain) throw error;
      const now = await readNow(store, key);
      if (now?.revision === current?.revision) throw error;
      current = now;
    }
    certain = true;
  }
}
