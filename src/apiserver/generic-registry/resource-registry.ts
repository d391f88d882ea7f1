/**
 * All resources that this server serves, by group, version and name. Definitions are added and removed at run time
 * (custom resources).
 */
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Log } from '../../platform/log.ts';
import { callEach } from '../../platform/unexpected.ts';
import type { ResourceDefinition } from '../registry/resource-definition.ts';
import { GenericStore } from './generic-store.ts';
import type { RegistryServices } from './services.ts';

/** Names a resource in a version. */
export type ResourceKey = Pick<ResourceInfo, 'group' | 'version' | 'resource'>;

/** The definition whose version is stored, among those that share a prefix. */
function storedOf(definitions: readonly ResourceDefinition[]): ResourceDefinition {
  return (
    definitions.find((one) => one.storageVersion === true) ??
    definitions.find((one) => one.conversion === undefined) ??
    definitions[0]!
  );
}

export class ResourceRegistry {
  /** By resource name, which few share: every request looks one up. */
  readonly #stores = new Map<string, readonly GenericStore[]>();
  readonly #served = new Set<GenericStore>();
  /** The number of served built-in resources by group, looked up for every unknown path. */
  readonly #builtIn = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The stores of served resources, in the order of addition. */
  get served(): Iterable<GenericStore> {
    return this.#served;
  }

  /** Whether the group has served built-in resources. */
  servesBuiltIn(group: string): boolean {
    return this.#builtIn.has(group);
  }

  #countBuiltIn({ info, definition }: GenericStore, more: number): void {
    if (definition.schema !== undefined) return;
    const count = (this.#builtIn.get(info.group) ?? 0) + more;
    if (count > 0) this.#builtIn.set(info.group, count);
    else this.#builtIn.delete(info.group);
  }

  /** The served resource of a path. */
  find(group: string, version: string, resource: string): GenericStore | undefined {
    const store = this.known({ group, version, resource });
    return store !== undefined && this.#served.has(store) ? store : undefined;
  }

  /** The store of a resource, served or not. */
  known({ group, version, resource }: ResourceKey): GenericStore | undefined {
    return this.#stores.get(resource)?.find(({ info }) => info.version === version && info.group === group);
  }

  /** The key prefixes of all known resources. */
  storagePrefixes(): ReadonlySet<string> {
    return new Set([...this.#stores.values()].flat().map(({ definition }) => definition.storagePrefix));
  }

  /** Adds definitions; those for which `isServed` is false have storage but no path. */
  add(
    definitions: readonly ResourceDefinition[],
    services: RegistryServices,
    isServed: (definition: ResourceDefinition) => boolean,
  ): GenericStore[] {
    const added: GenericStore[] = [];
    for (const definition of definitions) {
      const { storagePrefix } = definition;
      const stored =
        storagePrefix === '' ? definition : storedOf(definitions.filter((one) => one.storagePrefix === storagePrefix));
      const store = new GenericStore(definition, stored, services);
      this.#removeStore(definition.info);
      const { resource } = definition.info;
      this.#stores.set(resource, [...(this.#stores.get(resource) ?? []), store]);
      if (isServed(definition)) {
        this.#served.add(store);
        this.#countBuiltIn(store, 1);
      }
      added.push(store);
    }
    this.#changed();
    return added;
  }

  remove(keys: readonly ResourceKey[]): void {
    let changed = false;
    for (const key of keys) if (this.#removeStore(key)) changed = true;
    if (changed) this.#changed();
  }

  /** Returns whether the resource was present. */
  #removeStore(key: ResourceKey): boolean {
    const store = this.known(key);
    if (store === undefined) return false;
    const others = this.#stores.get(key.resource)!.filter((other) => other !== store);
    if (others.length === 0) this.#stores.delete(key.resource);
    else this.#stores.set(key.resource, others);
    if (this.#served.delete(store)) this.#countBuiltIn(store, -1);
    return true;
  }

  #changed(): void {
    callEach({ log: this.#log, what: 'a listener of the served resources threw' }, this.#listeners);
  }

  /** Called whenever the set of resources changed. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
