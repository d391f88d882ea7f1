/**
 * A client and informers over objects in memory, for tests of the kubelet's core: create, get, update, patch (merge and
 * strategic as far as the kubelet's own patches go) and graceful deletion of pods. Everything is told to handlers at once.
 */
import { matchesFields, parseFieldSelector } from '../api/field-selector.ts';
import { formatTime } from '../api/time.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { alreadyExists, conflict, notFound } from '../api/status-error.ts';
import type { Client, DeleteOptions, ObjectKey, Patch, ResourceClient } from '../client/client.ts';
import type { Informer, InformerFactory, InformerHandler } from '../client/informer.ts';
import type { Clock } from '../platform/clock.ts';

export interface FakeCluster {
  readonly client: Client;
  readonly informers: InformerFactory;
  /** Method and object of every write, oldest first: `patch pods/status web`. */
  readonly writes: string[];
  get<T extends KubernetesObject>(info: ResourceInfo<T>, key: ObjectKey): T | undefined;
  list<T extends KubernetesObject>(info: ResourceInfo<T>): T[];
  put<T extends KubernetesObject>(info: ResourceInfo<T>, object: T): T;
  drop(info: ResourceInfo, key: ObjectKey): void;
  /** Thrown by writes of this kind (`patch pods/status`) until removed. */
  readonly failures: Map<string, Error>;
  /** What informers' first lists wait for. */
  synced: Promise<void>;
}

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

const MERGE_KEYS: Readonly<Record<string, string>> = { conditions: 'type', podIPs: 'ip', hostIPs: 'ip' };

function mergeList(before: readonly Fields[], changes: readonly Fields[], key: string): Fields[] {
  let list = [...before];
  for (const { $patch, ...change } of changes) {
    if ($patch === 'replace') list = [];
    else if ($patch === 'delete') list = list.filter((item) => item[key] !== change[key]);
    else if (list.some((item) => item[key] === change[key]))
      list = list.map((item) => (item[key] === change[key] ? (merge(item, change) as Fields) : item));
    else list.push(change);
  }
  return list;
}

function merge(before: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const merged: Fields = isFields(before) ? { ...before } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$setElementOrder/')) continue;
    const key = MERGE_KEYS[name];
    if (value === null) delete merged[name];
    else if (key !== undefined && Array.isArray(value))
      merged[name] = mergeList((merged[name] as Fields[] | undefined) ?? [], value as Fields[], key);
    else if (name === 'addresses' && Array.isArray(value))
      merged[name] = value.filter((item) => (item as Fields)['$patch'] === undefined);
    else merged[name] = merge(merged[name], value);
  }
  return merged;
}

const idOf = (key: ObjectKey): string => `${key.namespace ?? ''}/${key.name}`;
const keyOf = (object: KubernetesObject): ObjectKey =>
  object.metadata.namespace === undefined
    ? { name: object.metadata.name ?? '' }
    : { namespace: object.metadata.namespace, name: object.metadata.name ?? '' };

const specFields = (object: KubernetesObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries((object as { spec?: object }).spec ?? {}).map(([name, value]) => [`spec.${name}`, String(value)]),
  );

/** Makes an empty cluster. */
export function createFakeCluster(clock: Clock): FakeCluster {
  const stores = new Map<string, Map<string, KubernetesObject>>();
  const handlers = new Map<string, Set<InformerHandler<KubernetesObject>>>();
  const writes: string[] = [];
  const failures = new Map<string, Error>();
  let revision = 0;
  let nextUid = 1;

  const storeOf = (info: ResourceInfo): Map<string, KubernetesObject> => {
    const store = stores.get(info.resource) ?? new Map<string, KubernetesObject>();
    stores.set(info.resource, store);
    return store;
  };
  const tell = (info: ResourceInfo, call: (handler: InformerHandler<KubernetesObject>) => void): void => {
    for (const handler of handlers.get(info.resource) ?? []) call(handler);
  };

  function put(info: ResourceInfo, object: KubernetesObject): KubernetesObject {
    const store = storeOf(info);
    const id = idOf(keyOf(object));
    const before = store.get(id);
    const metadata = {
      creationTimestamp: formatTime(clock.nowMs()),
      uid: `uid-${nextUid++}`,
      ...object.metadata,
      resourceVersion: String(++revision),
    };
    const stored = { ...object, metadata };
    store.set(id, stored);
    tell(info, (handler) =>
      before === undefined ? handler.onAdd?.(stored, false) : handler.onUpdate?.(before, stored),
    );
    return stored;
  }

  function drop(info: ResourceInfo, key: ObjectKey): void {
    const before = storeOf(info).get(idOf(key));
    storeOf(info).delete(idOf(key));
    if (before !== undefined) tell(info, (handler) => handler.onDelete?.(before, false));
  }

  function must(info: ResourceInfo, key: ObjectKey): KubernetesObject {
    const object = storeOf(info).get(idOf(key));
    if (object === undefined) throw notFound(info, key.name);
    return object;
  }

  function note(what: string, name: string): void {
    const failure = failures.get(what);
    if (failure !== undefined) throw failure;
    writes.push(`${what} ${name}`);
  }

  function remove(info: ResourceInfo, key: ObjectKey, options: DeleteOptions): unknown {
    note(`delete ${info.resource}`, key.name);
    const object = must(info, key);
    if (options.preconditions?.uid !== undefined && options.preconditions.uid !== object.metadata.uid)
      throw conflict(info, key.name);
    const graceSeconds = options.gracePeriodSeconds ?? 30;
    if (info.resource !== 'pods' || graceSeconds === 0) return drop(info, key);
    const metadata = {
      ...object.metadata,
      deletionTimestamp: formatTime(clock.nowMs() + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
    };
    return put(info, { ...object, metadata });
  }

  function patch(info: ResourceInfo, key: ObjectKey, given: Patch): KubernetesObject {
    const object = must(info, key);
    if (given.type === 'json' || given.type === 'apply') throw new Error(`${given.type} patches are not in this fake`);
    const uid = (given.patch as { metadata?: { uid?: string } }).metadata?.uid;
    if (uid !== undefined && uid !== object.metadata.uid) throw conflict(info, key.name);
    return put(info, merge(object, given.patch) as KubernetesObject);
  }

  function resource<T extends KubernetesObject>(info: ResourceInfo<T>): ResourceClient<T> {
    const refuse = (): never => {
      throw new Error('not in this fake');
    };
    return {
      info,
      get: async (key) => must(info, key) as T,
      list: async () => ({ metadata: {}, items: [...storeOf(info).values()] as T[] }),
      watch: refuse,
      async create(object) {
        note(`create ${info.resource}`, object.metadata.name ?? '');
        if (storeOf(info).has(idOf(keyOf(object)))) throw alreadyExists(info, object.metadata.name ?? '');
        return put(info, object) as T;
      },
      async update(object) {
        note(`update ${info.resource}`, object.metadata.name ?? '');
        const before = must(info, keyOf(object));
        if (object.metadata.resourceVersion !== before.metadata.resourceVersion)
          throw conflict(info, object.metadata.name ?? '');
        return put(info, object) as T;
      },
      updateStatus: refuse,
      async patch(key, given, options) {
        note(`patch ${info.resource}${options?.subresource === undefined ? '' : `/${options.subresource}`}`, key.name);
        return patch(info, key, given) as T;
      },
      delete: async (key, options) => remove(info, key, options ?? {}),
      async deleteCollection({ fieldSelector = '' }) {
        const failure = failures.get(`deletecollection ${info.resource}`);
        if (failure !== undefined) throw failure;
        for (const object of [...storeOf(info).values()])
          if (matchesFields(parseFieldSelector(fieldSelector), specFields(object))) drop(info, keyOf(object));
      },
      getSubresource: refuse,
      createSubresource: refuse,
    };
  }

  function informer<T extends KubernetesObject>(info: ResourceInfo<T>): Informer<T> {
    const refuse = (): never => {
      throw new Error('not in this fake');
    };
    return {
      info,
      hasSynced: () => true,
      waitForSync: () => cluster.synced,
      get: (key) => storeOf(info).get(idOf(key)) as T | undefined,
      list: () => [...storeOf(info).values()] as T[],
      byIndex: refuse,
      addIndex: refuse,
      addHandler(handler) {
        const of = handlers.get(info.resource) ?? new Set();
        handlers.set(info.resource, of);
        of.add(handler as InformerHandler<KubernetesObject>);
        for (const object of storeOf(info).values()) handler.onAdd?.(object as T, true);
        return () => void of.delete(handler as InformerHandler<KubernetesObject>);
      },
      waitForRevision: async () => undefined,
      lastRevision: () => String(revision),
    };
  }

  const cluster: FakeCluster = {
    writes,
    failures,
    synced: Promise.resolve(),
    client: {
      resource,
      raw: () => Promise.reject(new Error('not in this fake')),
      upgrade: () => Promise.reject(new Error('not in this fake')),
    },
    informers: { informer, existing: () => undefined, start: () => undefined, waitForSync: async () => undefined },
    get: (info, key) => storeOf(info).get(idOf(key)) as never,
    list: (info) => [...storeOf(info).values()] as never,
    put: (info, object) => put(info, object) as never,
    drop,
  };
  return cluster;
}
