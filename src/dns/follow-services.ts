/**
 * Feeds the zone from the API's Services and EndpointSlices. While the API is unavailable the zone answers from its
 * last state. Only the fields that DNS needs are kept.
 */
import { onlyDefined } from '../base/only-defined.ts';
import { EndpointSlices, Services } from '../api/gen/resources.ts';
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import type { Stored } from '../api/object.ts';
import { stepByStep } from '../base/steps.ts';
import type { InformerFactory } from '../client/informer.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { background } from '../platform/unexpected.ts';
import type { MutableZone } from './zone.ts';

/** The link between the API and the zone. */
export interface ServiceFollower {
  /** Whether the zone has been complete once. */
  isReady(): boolean;
  /** Resolves when the zone is complete; rejects when aborted. */
  ready(signal?: AbortSignal): Promise<void>;
}

/** Adds handlers to the informers, which the owner of the factory starts. Long changes leave others their turns. */
export function followServices(
  informers: InformerFactory,
  zone: MutableZone,
  { clock, log }: { readonly clock: Pick<Clock, 'yield'>; readonly log: Log },
): ServiceFollower {
  const services = informers.informer(Services, { projection: { name: 'dns', apply: projectService } });
  const slices = informers.informer(EndpointSlices, { projection: { name: 'dns', apply: projectSlice } });
  let taking: Promise<void> | undefined;
  const take = (): void => {
    const left = stepByStep(zone.takeChanges(), () => clock.yield());
    if (!(left instanceof Promise)) return;
    taking = left.finally(() => {
      taking = undefined;
      // A change may come between the last step and this.
      if (!zone.isSettled()) take();
    });
    background(log, 'changes were not taken', taking);
  };
  const after = (change: () => void): void => {
    change();
    if (taking === undefined) take();
  };
  services.addHandler({
    onAdd: (service) => after(() => zone.setService(service)),
    onUpdate: (_old, service) => after(() => zone.setService(service)),
    onDelete: ({ metadata }) => after(() => zone.removeService(metadata.namespace, metadata.name)),
  });
  slices.addHandler({
    onAdd: (slice) => after(() => zone.setSlice(slice)),
    onUpdate(old, slice) {
      if (old.metadata.labels?.[SERVICE_LABEL] !== slice.metadata.labels?.[SERVICE_LABEL]) zone.removeSlice(old);
      after(() => zone.setSlice(slice));
    },
    onDelete: (slice) => after(() => zone.removeSlice(slice)),
  });
  let wasReady = false;
  return {
    isReady: () => (wasReady ||= services.hasSynced() && slices.hasSynced() && zone.isSettled()),
    ready: async (signal) => {
      await Promise.all([services.waitForSync(signal), slices.waitForSync(signal)]);
      while (taking !== undefined) await taking;
    },
  };
}

const SERVICE_LABEL = 'kubernetes.io/service-name';

function projectService({ metadata, spec = {} }: Stored<Service>): Stored<Service> {
  const { namespace, name, resourceVersion, uid } = metadata;
  const { type, clusterIP, clusterIPs, externalName, ports } = spec;
  return {
    metadata: onlyDefined({ namespace, name, resourceVersion, uid }),
    spec: onlyDefined({ type, clusterIP, clusterIPs, externalName, ports }),
  };
}

function projectSlice({ metadata, addressType, endpoints, ports }: Stored<EndpointSlice>): Stored<EndpointSlice> {
  const { namespace, name, resourceVersion, uid } = metadata;
  const service = metadata.labels?.[SERVICE_LABEL];
  const kept = onlyDefined({
    namespace,
    name,
    resourceVersion,
    uid,
    labels: service === undefined ? undefined : { [SERVICE_LABEL]: service },
  });
  return {
    metadata: kept,
    addressType,
    ports: ports ?? [],
    endpoints: (endpoints ?? []).map(({ addresses, hostname, conditions }) =>
      onlyDefined({ addresses, hostname, conditions }),
    ),
  };
}
