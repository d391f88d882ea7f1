/** An object store of a few objects, for tests of authorizers and admission plugins. Writes go through `put` and `remove`. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { groupResourceOf } from '../../api/resource-info.ts';
import { notFound } from '../../api/status-error.ts';
import type { ObjectStore } from '../registry/object-store.ts';

/** The store and its hands. */
export interface TestObjects {
  readonly store: ObjectStore;
  put<T extends KubernetesObject>(info: ResourceInfo<T>, ...objects: T[]): void;
  remove(info: ResourceInfo, namespace: string, name: string): void;
  /** Only the store itself has it, the cache lags. */
  putFresh<T extends KubernetesObject>(info: ResourceInfo<T>, object: T): void;
}

type Listener = (object: KubernetesObject | undefined, old: KubernetesObject | undefined) => void;

/** Makes an empty store. */
export function createTestObjects(): TestObjects {
  const objects = new Map<string, KubernetesObject>();
  const fresh = new Map<string, KubernetesObject>();
  const listeners = new Map<string, Set<Listener>>();
  const keyOf = (info: ResourceInfo, namespace: string | undefined, name: string | undefined): string =>
    `${groupResourceOf(info)}|${namespace ?? ''}|${name ?? ''}`;
  const tell = (info: ResourceInfo, object: KubernetesObject | undefined, old: KubernetesObject | undefined): void => {
    for (const listener of listeners.get(groupResourceOf(info)) ?? []) listener(object, old);
  };
  const all = (info: ResourceInfo): KubernetesObject[] =>
    [...objects].filter(([key]) => key.startsWith(`${groupResourceOf(info)}|`)).map(([, object]) => object);
  const store: Partial<ObjectStore> = {
    get: (info, namespace, name) => objects.get(keyOf(info, namespace, name)) as never,
    list: (info, namespace) =>
      all(info).filter(
        (o) => namespace === undefined || namespace === '' || o.metadata.namespace === namespace,
      ) as never,
    listInTurns: async (info, namespace) => store.list!(info, namespace),
    getFresh: async (info, namespace, name) =>
      (fresh.get(keyOf(info, namespace, name)) ?? objects.get(keyOf(info, namespace, name))) as never,
    async guaranteedUpdate(info, namespace, name, change) {
      const key = keyOf(info, namespace, name);
      const current = objects.get(key);
      if (current === undefined) throw notFound(info, name);
      const next = change(current as never) ?? current;
      objects.set(key, next);
      tell(info, next, current);
      return next as never;
    },
    onChange(info, listener, { onlyLater } = { onlyLater: false }) {
      const mine = listener as unknown as Listener;
      const known = listeners.get(groupResourceOf(info)) ?? new Set();
      listeners.set(groupResourceOf(info), known.add(mine));
      if (!onlyLater) for (const object of all(info)) mine(object, undefined);
      return () => void known.delete(mine);
    },
  };
  return {
    store: store as ObjectStore,
    put(info, ...given) {
      for (const object of given) {
        const key = keyOf(info, object.metadata.namespace, object.metadata.name);
        const old = objects.get(key);
        objects.set(key, object);
        tell(info, object, old);
      }
    },
    remove(info, namespace, name) {
      const key = keyOf(info, namespace, name);
      const old = objects.get(key);
      objects.delete(key);
      if (old !== undefined) tell(info, undefined, old);
    },
    putFresh: (info, object) => void fresh.set(keyOf(info, object.metadata.namespace, object.metadata.name), object),
  };
}
