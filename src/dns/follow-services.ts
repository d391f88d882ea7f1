/**
 * Feeds the zone from the API's Services and EndpointSlices. While the API is unavailable the zone answers from its
 * last state. Only the fields that DNS needs are kept.
 */
import { onlyDefined } from '../base/only-defined.ts';
import { EndpointSlices, Services } from '../api/gen/resources.ts';
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import type { Stored } from '../api/object.ts';
import type { InformerFactory } from '../client/informer.ts';
import type { MutableZone } from './zone.ts';

/** The link between the API and the zone. */
export interface ServiceFollower {
  /** Whether the zone has been complete once. */
  isReady(): boolean;
  /** Resolves when the zone is complete; rejects when aborted. */
  ready(signal?: AbortSignal): Promise<void>;
}

/** Adds handlers to the informers, which the owner of the factory starts. */
export function followServices(informers: InformerFactory, zone: MutableZone): ServiceFollower {
  const services = informers.informer(Services, { projection: { name: 'dns', apply: projectService } });
  const slices = informers.informer(EndpointSlices, { projection: { name: 'dns', apply: projectSlice } });
  services.addHandler({
    onAdd: zone.setService,
    onUpdate: (_old, service) => zone.setService(service),
    onDelete: ({ metadata }) => zone.removeService(metadata.namespace, metadata.name),
  });
  slices.addHandler({
    onAdd: zone.setSlice,
    onUpdate(old, slice) {
      if (old.metadata.labels?.[SERVICE_LABEL] !== slice.metadata.labels?.[SERVICE_LABEL]) zone.removeSlice(old);
      zone.setSlice(slice);
    },
    onDelete: zone.removeSlice,
  });
  return {
    isReady: () => services.hasSynced() && slices.hasSynced(),
    ready: async (signal) => {
      await Promise.all([services.waitForSync(signal), slices.waitForSync(signal)]);
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
