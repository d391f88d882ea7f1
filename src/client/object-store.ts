/**
 * The local copy behind an informer: objects by key, by namespace and by named indices. Upstream: client-go
 * tools/cache.ThreadSafeStore with Indexers.
 */
import type { KubernetesObject } from '../api/object.ts';
import type { ObjectKey } from './client.ts';

/** `namespace/name`, or `name` for cluster-scoped objects: the key of queues and stores. */
export function keyOfObject(object: {
  readonly metadata: { readonly namespace?: string; readonly name?: string };
}): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === '' ? (name ?? '') : `${namespace}/${name ?? ''}`;
}

/** The text form of a key. */
export function formatKey(key: ObjectKey): string {
  return key.namespace === undefined || key.namespace === '' ? key.name : `${key.namespace}/${key.name}`;
}

/** Reads a key's text form. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

interface Index<T> {
  readonly keys: (object: T) => readonly string[];
  readonly values: Map<string, Map<string, T>>;
}

/** Created when first needed: a kubelet's informers hold only its own objects and list all of them. */
const NAMESPACE_INDEX = '~namespace';

/** A set of objects with indices. */
export class ObjectStore<T extends KubernetesObject> {
  readonly #objects = new Map<string, T>();
  readonly #indices = new Map<string, Index<T>>();

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): string[] {
    return [...this.#objects.keys()];
  }

  list(namespace?: string): T[] {
    if (namespace !== undefined && namespace !== '') return this.byIndex(NAMESPACE_INDEX, namespace);
    return [...this.#objects.values()];
  }

  byIndex(name: string, value: string): T[] {
    if (name === NAMESPACE_INDEX) this.addIndex(NAMESPACE_INDEX, namespacesOf);
    const index = this.#indices.get(name);
    if (index === undefined) throw new Error(`the informer has no index ${name}`);
    return [...(index.values.get(value)?.values() ?? [])];
  }

  addIndex(name: string, keys: (object: T) => readonly string[]): void {
    if (this.#indices.has(name)) return;
    const index: Index<T> = { keys, values: new Map() };
    this.#indices.set(name, index);
    for (const [key, object] of this.#objects) insert(index, key, object);
  }

  /** Stores the object and returns the one it replaces. */
  set(key: string, object: T): T | undefined {
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indices.values()) {
      if (old !== undefined) remove(index, key, old);
      insert(index, key, object);
    }
    return old;
  }

  delete(key: string): T | undefined {
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    this.#objects.delete(key);
    for (const index of this.#indices.values()) remove(index, key, old);
    return old;
  }
}

function namespacesOf({ metadata }: KubernetesObject): readonly string[] {
  return metadata.namespace === undefined ? [] : [metadata.namespace];
}

function insert<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.keys(object)) {
    let members = index.values.get(value);
    if (members === undefined) index.values.set(value, (members = new Map()));
    members.set(key, object);
  }
}

function remove<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.keys(object)) {
    const members = index.values.get(value);
    members?.delete(key);
    if (members?.size === 0) index.values.delete(value);
  }
}
