/**
 * Keeps APIServices for the groups and versions that this server itself serves, in the background. Upstream:
 * kube-aggregator pkg/controllers/autoregister.
 */
import { APIServices } from '../../api/gen/resources.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { syncLocalApiServices, type GroupVersion } from './local-api-services.ts';

/** The APIServices, and the registry whose changes are followed. */
export interface AutoRegistrationDeps {
  readonly objects: ObjectStore;
  readonly registry: ResourceRegistry;
  /** Computed groups, which are not in the registry. */
  readonly computed: readonly GroupVersion[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts the registration; returns a function that ends it. Changes are written one after the other. */
export function startAutoRegistration({ objects, registry, computed, clock, log }: AutoRegistrationDeps): () => void {
  const served = (): GroupVersion[] => {
    const all = [...[...registry.served].map(({ info }) => info), ...computed].map(({ group, version }) => ({
      group,
      version,
    }));
    return [...new Map(all.map((one) => [`${one.group}/${one.version}`, one])).values()];
  };
  let running: Promise<void> = Promise.resolve();
  let stopped = false;
  const sync = (): void => {
    running = running
      .then(() => (stopped ? undefined : syncLocalApiServices(objects, served(), clock.nowMs())))
      .catch((error: unknown) => {
        if (!stopped) log.error('cannot keep APIServices', { err: error });
      });
  };
  registry.onChange(sync);
  const unfollow = objects.onChange(APIServices, (service) => {
    if (service === undefined) sync();
  });
  sync();
  return () => {
    stopped = true;
    unfollow();
  };
}
