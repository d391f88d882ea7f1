/** Marks the services and pods that a change of the cluster's objects concerns. */
import type { Node, Pod, Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { Informer, InformerHandler } from '../client/informer.ts';
import type { ProgrammingLatencies } from './programming-latency.ts';
import type { ProxyMetrics } from './proxy-metrics.ts';

const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
/** The index of slices by their service. */
export const BY_SERVICE = 'service';
/** The node label with its zone. */
export const ZONE_LABEL = 'topology.kubernetes.io/zone';

export interface Sources {
  readonly services: Informer<Service>;
  readonly slices: Informer<EndpointSlice>;
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
}

export interface Watching {
  /** Keys of services and pods to recompute. */
  readonly dirty: { readonly services: Set<string>; readonly pods: Set<string> };
  readonly config: { readonly nodeName: string };
  readonly metrics: ProxyMetrics;
  readonly latencies: ProgrammingLatencies;
  changed(): void;
}

/** Adds permanent handlers. */
export function watchSources(sources: Sources, { dirty, config, metrics, latencies, changed }: Watching): void {
  const touch = (set: Set<string>, key: string | undefined): void => {
    if (key === undefined) return;
    set.add(key);
    changed();
  };
  // Topology hints depend on this node's zone.
  const touchAll = (): void => {
    for (const service of sources.services.list())
      touch(dirty.services, `${service.metadata.namespace}/${service.metadata.name}`);
  };
  sources.slices.addIndex(BY_SERVICE, (slice) => [serviceOf(slice) ?? '']);
  sources.services.addHandler(
    onEach((service) => {
      metrics.serviceChanged();
      touch(dirty.services, `${service.metadata.namespace}/${service.metadata.name}`);
    }),
  );
  sources.slices.addHandler({
    onAdd: (slice) => latencies.changed(slice),
    onUpdate: (before, slice) => latencies.changed(slice, before),
  });
  sources.slices.addHandler(
    onEach((slice) => {
      metrics.endpointsChanged();
      touch(dirty.services, serviceOf(slice));
    }),
  );
  sources.pods.addHandler(onEach((pod) => touch(dirty.pods, `${pod.metadata.namespace}/${pod.metadata.name}`)));
  sources.nodes.addHandler({
    onAdd: (node) => {
      if (node.metadata.name !== config.nodeName) return;
      touchAll();
      changed();
    },
    onUpdate: (old, node) => {
      if (node.metadata.name !== config.nodeName) return;
      if (old.metadata.labels?.[ZONE_LABEL] !== node.metadata.labels?.[ZONE_LABEL]) touchAll();
      // Node ports may depend on the addresses.
      if (JSON.stringify(old.status?.addresses) !== JSON.stringify(node.status?.addresses)) changed();
    },
  });
}

function onEach<T extends KubernetesObject>(call: (object: Stored<T>) => void): InformerHandler<T> {
  return {
    onAdd: call,
    onUpdate: (old, object) => {
      call(old);
      call(object);
    },
    onDelete: call,
  };
}
function serviceOf(slice: EndpointSlice): string | undefined {
  const name = slice.metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined ? undefined : `${slice.metadata.namespace}/${name}`;
}
