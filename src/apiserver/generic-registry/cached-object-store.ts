/** An ObjectStore over the caches, for admission, authorizers, allocators and sub-resources. */
import type { JsonObject } from '../../api/codec/own-property.ts';
import { decodeTyped } from '../../api/codec/typed.ts';
import type { DeleteOptions } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { groupResourceOf, type ResourceInfo } from '../../api/resource-info.ts';
import { conflict, notFound } from '../../api/status-error.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { RequestContext } from '../request-context.ts';
import { RevisionCell } from '../watch-cache/revision-cell.ts';
import { deleteObject } from './delete.ts';
import { writeFromCache } from './freshness.ts';
import type { GenericStore } from './generic-store.ts';
import type { ResourceRegistry } from './resource-registry.ts';
import { isSame } from './same-object.ts';
import { canonical, nowText, putObject } from './write.ts';

const MAX_ATTEMPTS = 50;

type Listener = (object: KubernetesObject | undefined, old: KubernetesObject | undefined) => void;

/** Reads of undefined resources find nothing. */
export function createCachedObjectStore(registry: ResourceRegistry): ObjectStore {
  return new CachedObjectStore(registry) as ObjectStore;
}

/** Decoding this many bytes takes a few milliseconds. */
const BYTES_PER_TURN = 256 * 1024;

class CachedObjectStore {
  readonly #registry: ResourceRegistry;

  constructor(registry: ResourceRegistry) {
    this.#registry = registry;
  }

  #store(info: ResourceInfo): GenericStore {
    const store = this.#registry.known(info);
    if (store === undefined) throw new Error(`no resource ${groupResourceOf(info)} ${info.version} is defined`);
    return store;
  }

  get(info: ResourceInfo, namespace: string, name: string): KubernetesObject | undefined {
    const store = this.#registry.known(info);
    const cell = store?.cache.get(store.keyOf({ namespace, name }));
    return cell && store!.object(cell);
  }

  list(info: ResourceInfo, namespace = ''): readonly KubernetesObject[] {
    const store = this.#registry.known(info);
    return store === undefined || store.cache.size === 0
      ? []
      : store.cache.list(store.prefixOf(namespace)).map((cell) => store.object(cell));
  }

  async listInTurns(
    info: ResourceInfo,
    namespace: string,
    pause: () => Promise<void> | undefined,
  ): Promise<readonly KubernetesObject[]> {
    const store = this.#registry.known(info);
    if (store === undefined || store.cache.size === 0) return [];
    const objects: KubernetesObject[] = [];
    let bytes = 0;
    for (const cell of store.cache.list(store.prefixOf(namespace))) {
      objects.push(store.object(cell));
      bytes += cell.byteLength;
      if (bytes < BYTES_PER_TURN) continue;
      bytes = 0;
      await pause();
    }
    return objects;
  }

  onChange(info: ResourceInfo, listener: Listener, { onlyLater } = { onlyLater: false }): () => void {
    let leave: (() => void) | undefined;
    let followed: GenericStore | undefined;
    const follow = (): void => {
      const store = this.#registry.known(info);
      if (store === undefined || store.cache === followed?.cache) return;
      leave?.();
      followed = store;
      leave = followStore(store, listener, onlyLater);
    };
    follow();
    const unfollow = this.#registry.onChange(follow);
    return () => {
      unfollow();
      leave?.();
    };
  }

  async getFresh(info: ResourceInfo, namespace: string, name: string): Promise<KubernetesObject | undefined> {
    const store = this.#store(info);
    const key = store.keyOf({ namespace, name });
    const entry = await store.services.store.get(key);
    return entry && store.object(new RevisionCell(key, entry.modRevision, entry.value));
  }

  async guaranteedUpdate(
    info: ResourceInfo,
    namespace: string,
    name: string,
    change: (current: KubernetesObject) => KubernetesObject | undefined,
  ): Promise<KubernetesObject> {
    const store = this.#store(info);
    const key = store.keyOf({ namespace, name });
    const done = await writeFromCache<{ object: KubernetesObject }>(store, key, async (current, attempt) => {
      if (current === undefined) throw notFound(store.groupResource, name);
      await store.prepare([current]);
      const old = store.object(current);
      const next = change(old);
      if (next === undefined || next === old) return { object: old };
      const object = canonical(store, next, old);
      if (isSame(object, old)) return { object: old };
      const outcome = await putObject(store, { key, object, expect: current.revision, created: false });
      if ('lost' in outcome && attempt === MAX_ATTEMPTS) throw conflict(store.groupResource, name);
      return outcome;
    });
    return done.object;
  }

  async ensure(
    info: ResourceInfo,
    object: KubernetesObject,
    { isCanonical } = { isCanonical: false },
  ): Promise<KubernetesObject> {
    const store = this.#store(info);
    const { name = '', namespace = '' } = object.metadata;
    const key = store.keyOf({ namespace, name });
    const present = store.cache.get(key);
    if (present !== undefined) return store.object(present);
    const known = isCanonical ? ({ ...object, metadata: undefined } as JsonObject) : undefined;
    const draft = decodeTyped(store.schema, object, { known }).object as KubernetesObject & JsonObject;
    store.definition.strategy.applyDefaults?.(draft);
    draft.apiVersion = store.apiVersion;
    draft.kind = store.info.kind;
    draft.metadata.uid ??= store.services.random.uuid();
    draft.metadata.creationTimestamp ??= nowText(store);
    const outcome = await putObject(store, { key, object: draft, expect: 0, created: true });
    if (!('lost' in outcome)) return outcome.object;
    if (outcome.current === undefined) throw conflict(store.groupResource, name);
    return store.object(outcome.current);
  }

  async delete(
    info: ResourceInfo,
    key: { namespace: string; name: string },
    options: object,
    context: RequestContext,
  ): Promise<KubernetesObject> {
    const request = {
      ...key,
      context,
      dryRun: ((options as DeleteOptions).dryRun ?? []).length > 0,
      manager: '',
      options: options as DeleteOptions,
    };
    return (await deleteObject(this.#store(info), request)).object;
  }
}

function followStore(store: GenericStore, listener: Listener, onlyLater: boolean): () => void {
  const leave = store.cache.listen((events) => {
    for (const { cell, previous, deleted } of events) {
      listener(deleted ? undefined : store.object(cell), previous && store.object(previous));
    }
  });
  if (store.cache.loaded && !onlyLater)
    for (const cell of store.cache.list(store.cache.prefix)) listener(store.object(cell), undefined);
  return leave;
}
