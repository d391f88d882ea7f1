/** An informer whose objects a test adds and removes: tallies are compared with a recount. */
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Informer, InformerHandler } from '../client/informer.ts';
import type { ObjectKey } from '../client/client.ts';
import { formatKey, keyOfObject, ObjectStore } from '../client/object-store.ts';

/** Handlers are called at once. */
export interface ManualInformer<T extends KubernetesObject> {
  readonly informer: Informer<T>;
  list(): Stored<T>[];
  put(object: Stored<T>): void;
  remove(key: string): void;
}

/** Makes one that holds nothing. */
export function createManualInformer<T extends KubernetesObject>(info: ResourceInfo<T>): ManualInformer<T> {
  const store = new ObjectStore<Stored<T>>();
  const handlers: InformerHandler<T>[] = [];
  const informer = {
    info,
    get: (key: ObjectKey) => store.get(formatKey(key)),
    list: () => store.list(),
    byIndex: (index: string, value: string) => store.byIndex(index, value),
    addIndex: (name: string, keys: (object: Stored<T>) => readonly string[]) => store.addIndex(name, keys),
    addHandler: (handler: InformerHandler<T>) => void handlers.push(handler),
  };
  return {
    informer: informer as unknown as Informer<T>,
    list: () => store.list(),
    put(object) {
      const old = store.set(keyOfObject(object), object);
      for (const handler of handlers)
        if (old === undefined) handler.onAdd?.(object, false);
        else handler.onUpdate?.(old, object);
    },
    remove(key) {
      const old = store.delete(key);
      if (old !== undefined) for (const handler of handlers) handler.onDelete?.(old, false);
    },
  };
}
