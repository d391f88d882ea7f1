/**
 * One ready endpoint of a service's port, of slices of any number and size. Upstream: ResourceLocation of services,
 * which chooses one of the subsets, then one of its addresses.
 */
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { EndpointSlices } from '../api/gen/resources.ts';
import type { Random } from '../platform/random.ts';
import type { ObjectStore } from './registry/object-store.ts';

interface ServicePortName {
  readonly namespace: string;
  readonly service: string;
  readonly portName: string;
}

/** Undefined: no endpoint is ready. */
export function readyEndpoint(
  deps: { readonly objects: Pick<ObjectStore, 'list'>; readonly random: Random },
  { namespace, service, portName }: ServicePortName,
): { readonly host: string; readonly port: number } | undefined {
  const slices = deps.objects
    .list(EndpointSlices, namespace)
    .filter(
      ({ addressType, metadata }) =>
        addressType !== 'FQDN' && metadata.labels?.['kubernetes.io/service-name'] === service,
    );
  const first = slices.length === 0 ? 0 : deps.random.int(slices.length);
  for (const slice of [...slices.slice(first), ...slices.slice(0, first)]) {
    const found = endpointOf(slice, portName, deps.random);
    if (found !== undefined) return found;
  }
  return undefined;
}

function endpointOf(
  { endpoints = [], ports = [] }: EndpointSlice,
  portName: string,
  random: Random,
): { readonly host: string; readonly port: number } | undefined {
  const port = ports.find(({ name = '' }) => name === portName)?.port;
  const ready = endpoints.filter(({ conditions, addresses }) => conditions?.ready !== false && addresses.length > 0);
  if (port === undefined || ready.length === 0) return undefined;
  // Further addresses of an endpoint have no defined meaning.
  return { host: ready[random.int(ready.length)]!.addresses[0]!, port };
}
