/** A service port `ns/web` with one endpoint on this node and one on another, for tests of the proxy's rules. */
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { allSteps } from '../base/steps.ts';
import type { Endpoint } from './endpoints.ts';
import { endpointsOf, servicePorts, type ServicePortView, type ServiceView } from './service-map.ts';

/** The endpoint on this node. */
export const here: Endpoint = { address: '10.42.0.2', port: 8080, local: true, ready: true };

/** The endpoint on another node. */
export const there: Endpoint = { address: '10.42.1.3', port: 8080, local: false, ready: true };

/** The service port, with changes. */
export function port(changes: Partial<ServicePortView> = {}): ServicePortView {
  return {
    name: 'ns/web',
    protocol: 'tcp',
    port: 80,
    nodePort: 0,
    clusterIp: '10.43.0.5',
    externalIps: [],
    loadBalancerIps: [],
    sourceRanges: [],
    affinitySeconds: 0,
    internalLocal: false,
    externalLocal: false,
    cluster: [here, there],
    local: [here],
    serving: [],
    ...changes,
  };
}

/** All ports of a service with these slices. */
export function portsOf(service: Service, slices: readonly EndpointSlice[], view: ServiceView): ServicePortView[] {
  return [...servicePorts(service, allSteps(endpointsOf(service, slices, view)), view)];
}
