/**
 * Adds and removes resources at run time. Upstream: GenericAPIServer.InstallAPIGroup, and the handlers of custom
 * resources.
 */
import type { RunningWatches } from './endpoints/running-watches.ts';
import type { ResourceKey } from './generic-registry/resource-registry.ts';
import type { RegistryServices } from './generic-registry/services.ts';
import type { ResourceDefinition } from './registry/resource-definition.ts';
import type { ServerStorage } from './server-storage.ts';

export class InstalledDefinitions {
  readonly #storage: Pick<ServerStorage, 'hub' | 'registry'>;
  readonly #services: RegistryServices;
  readonly #watches: RunningWatches;
  readonly #serves: (definition: ResourceDefinition) => boolean;

  /** `serves`: whether the runtime configuration enables the definition. */
  constructor(
    storage: Pick<ServerStorage, 'hub' | 'registry'>,
    services: RegistryServices,
    watches: RunningWatches,
    serves: (definition: ResourceDefinition) => boolean,
  ) {
    this.#storage = storage;
    this.#services = services;
    this.#watches = watches;
    this.#serves = serves;
  }

  /** Call before the hub runs, while nothing is loaded and there are no watches. */
  addAtStart(definitions: readonly ResourceDefinition[]): void {
    this.#storage.registry.add(definitions, this.#services, this.#serves);
  }

  /** Adds definitions while the hub runs. Watches of replaced resources end; clients resume them on the new ones. */
  async add(definitions: readonly ResourceDefinition[], replaces: readonly ResourceKey[]): Promise<void> {
    const { hub, registry } = this.#storage;
    const prefixes = new Set(definitions.map(({ storagePrefix }) => storagePrefix).filter((prefix) => prefix !== ''));
    for (const prefix of prefixes) await hub.load(prefix);
    const replaced = replaces.map((key) => registry.known(key)).filter((store) => store !== undefined);
    this.addAtStart(definitions);
    const kept = new Set(definitions.map(({ info }) => `${info.group}/${info.version}/${info.resource}`));
    registry.remove(replaces.filter(({ group, version, resource }) => !kept.has(`${group}/${version}/${resource}`)));
    for (const store of replaced) this.#watches.endAll(store);
  }

  /** Like `add`, but never replaces a built-in resource, as upstream's handler order ensures. */
  addCustom(definitions: readonly ResourceDefinition[], replaces: readonly ResourceKey[]): Promise<void> {
    const { registry } = this.#storage;
    const own = definitions.filter(({ info }) => {
      const genericStore = registry.known(info);
      return genericStore === undefined || genericStore.definition.schema !== undefined;
    });
    return this.add(own, replaces);
  }

  /** Removes resources and ends their watches; their objects stay in the store. */
  remove(keys: readonly ResourceKey[]): void {
    const { registry } = this.#storage;
    const gone = keys.map((key) => registry.known(key)).filter((store) => store !== undefined);
    registry.remove(keys);
    for (const store of gone) this.#watches.endAll(store);
  }
}
