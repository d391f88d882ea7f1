/**
 * A client over a table of objects, for tests of readers and watchers. Without rules of a server: objects are stored unchanged.
 */
import { onAbort } from '../../base/abort.ts';
import { Channel } from '../../base/channel.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { mergePatch } from '../../api/patch/merge-patch.ts';
import { groupResourceOf, type ResourceInfo } from '../../api/resource-info.ts';
import { notFound } from '../../api/status-error.ts';
import type { Client, ObjectKey, ResourceClient, WatchEvent } from '../../client/client.ts';

interface Watcher {
  readonly table: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly channel: Channel<readonly WatchEvent<KubernetesObject>[]>;
}

export interface FakeClient extends Client {
  put<T extends KubernetesObject>(info: ResourceInfo<T>, object: T): void;
  remove(info: ResourceInfo, key: ObjectKey): void;
  peek<T extends KubernetesObject>(info: ResourceInfo<T>, key: ObjectKey): T | undefined;
  /** Requests so far, as `GET configmaps/name`. */
  readonly requests: readonly string[];
  readonly watching: number;
}

export function createFakeClient(): FakeClient {
  const tables = new Map<string, Map<string, KubernetesObject>>();
  const watchers = new Set<Watcher>();
  const requests: string[] = [];
  let revision = 1;
  const tableOf = (info: ResourceInfo): Map<string, KubernetesObject> => {
    const name = groupResourceOf(info);
    let table = tables.get(name);
    if (table === undefined) tables.set(name, (table = new Map()));
    return table;
  };
  const keyText = (key: ObjectKey): string => `${key.namespace ?? ''}/${key.name}`;
  const tell = (info: ResourceInfo, type: WatchEvent<unknown>['type'], object: KubernetesObject): void => {
    for (const watcher of watchers) {
      if (
        watcher.table !== groupResourceOf(info) ||
        (watcher.name !== undefined && watcher.name !== object.metadata.name)
      )
        continue;
      if (watcher.namespace !== undefined && watcher.namespace !== object.metadata.namespace) continue;
      watcher.channel.trySend([{ type, object }]);
    }
  };
  const selectedName = (fieldSelector: string | undefined): string | undefined =>
    fieldSelector?.split('metadata.name=')[1];

  function put(info: ResourceInfo, object: KubernetesObject): void {
    const table = tableOf(info);
    const key = keyText(object.metadata as ObjectKey);
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++revision) } };
    const type = table.has(key) ? 'MODIFIED' : 'ADDED';
    table.set(key, stored);
    tell(info, type, stored);
  }

  function remove(info: ResourceInfo, key: ObjectKey): void {
    const old = tableOf(info).get(keyText(key));
    tableOf(info).delete(keyText(key));
    revision++;
    if (old !== undefined)
      tell(info, 'DELETED', { ...old, metadata: { ...old.metadata, resourceVersion: String(revision) } });
  }

  function resource<T extends KubernetesObject>(info: ResourceInfo<T>): ResourceClient<T> {
    const client: Partial<ResourceClient<T>> = {
      info,
      async get(key) {
        requests.push(`GET ${info.resource}/${key.name}`);
        const found = tableOf(info).get(keyText(key));
        if (found === undefined) throw notFound(info, key.name);
        return found as Stored<T>;
      },
      async list(options = {}) {
        const name = selectedName(options.fieldSelector);
        requests.push(`LIST ${info.resource}/${name ?? ''}`);
        const items = [...tableOf(info).values()].filter(
          ({ metadata }) =>
            (options.namespace === undefined || metadata.namespace === options.namespace) &&
            (name === undefined || metadata.name === name),
        );
        return { metadata: { resourceVersion: String(revision) }, items: items as Stored<T>[] };
      },
      async *watch(options) {
        const channel = new Channel<readonly WatchEvent<KubernetesObject>[]>(1000);
        const watcher: Watcher = {
          table: groupResourceOf(info),
          namespace: options.namespace,
          name: selectedName(options.fieldSelector),
          channel,
        };
        watchers.add(watcher);
        onAbort(options.signal, () => channel.close());
        try {
          for await (const batch of channel) yield batch as readonly WatchEvent<Stored<T>>[];
        } finally {
          watchers.delete(watcher);
        }
      },
      async create(object) {
        requests.push(`POST ${info.resource}/${object.metadata.name}`);
        put(info, object);
        return tableOf(info).get(keyText(object.metadata as ObjectKey)) as Stored<T>;
      },
      async update(object) {
        requests.push(`PUT ${info.resource}/${object.metadata.name}`);
        put(info, object);
        return tableOf(info).get(keyText(object.metadata as ObjectKey)) as Stored<T>;
      },
      async patch(key, patch) {
        requests.push(`PATCH ${info.resource}/${key.name}`);
        const found = tableOf(info).get(keyText(key));
        if (found === undefined) throw notFound(info, key.name);
        if (patch.type !== 'merge') throw new Error(`the table takes no ${patch.type} patches`);
        put(info, mergePatch(found, patch.patch) as KubernetesObject);
        return tableOf(info).get(keyText(key)) as Stored<T>;
      },
      async delete(key) {
        requests.push(`DELETE ${info.resource}/${key.name}`);
        if (!tableOf(info).has(keyText(key))) throw notFound(info, key.name);
        remove(info, key);
        return {};
      },
    };
    return client as ResourceClient<T>;
  }

  return {
    resource,
    raw: () => Promise.reject(new Error('the table takes no raw requests')),
    upgrade: () => Promise.reject(new Error('the table takes no upgrades')),
    put,
    remove,
    peek: (info, key) => tableOf(info).get(keyText(key)) as never,
    requests,
    get watching() {
      return watchers.size;
    },
  };
}
