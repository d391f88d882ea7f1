/** Stored objects of any kind, for tests: what an API server has cached. */
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';

export interface TestObjects extends Pick<ObjectStore, 'get' | 'list' | 'onChange'> {
  put<T extends KubernetesObject>(info: ResourceInfo<T>, object: T): void;
  remove<T extends KubernetesObject>(info: ResourceInfo<T>, name: string): void;
}

export function createTestObjects(): TestObjects {
  const byResource = new Map<string, Map<string, KubernetesObject>>();
  const listeners: { readonly resource: string; readonly call: (object: never, old: never) => void }[] = [];
  const of = (resource: string): Map<string, KubernetesObject> => {
    const found = byResource.get(resource) ?? new Map<string, KubernetesObject>();
    byResource.set(resource, found);
    return found;
  };
  const keyOf = (namespace: string | undefined, name: string | undefined): string => `${namespace ?? ''}/${name ?? ''}`;
  const change = (resource: string, key: string, object: KubernetesObject | undefined): void => {
    const old = of(resource).get(key);
    if (object === undefined) of(resource).delete(key);
    else of(resource).set(key, object);
    for (const one of listeners) if (one.resource === resource) one.call(object as never, old as never);
  };
  return {
    get: <T extends KubernetesObject>({ resource }: ResourceInfo<T>, namespace: string, name: string) =>
      of(resource).get(keyOf(namespace, name)) as Stored<T> | undefined,
    list: <T extends KubernetesObject>({ resource }: ResourceInfo<T>) => [...of(resource).values()] as Stored<T>[],
    onChange({ resource }, call) {
      const listener = { resource, call };
      listeners.push(listener);
      for (const object of of(resource).values()) listener.call(object as never, undefined as never);
      return () => void listeners.splice(listeners.indexOf(listener), 1);
    },
    put: ({ resource }, object) => change(resource, keyOf(object.metadata?.namespace, object.metadata?.name), object),
    remove: ({ resource }, name) => change(resource, keyOf('', name), undefined),
  };
}
