/**
 * The `kubernetes` Service in `default` and its endpoints: the way pods reach the API. Kept in step with the server's own
 * address at every start. Upstream: controlplane/controller/kubernetesservice and reconcilers.
 */
import type { Endpoints as EndpointsObject, Service } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';

const LABELS = { component: 'apiserver', provider: 'kubernetes' };

export interface AdvertisedAddress {
  readonly ip: string;
  readonly port: number;
}

/** The Service with its fixed address, the first of the service range. */
export function kubernetesService(clusterIp: string, targetPort: number): Service {
  const family = clusterIp.includes(':') ? 'IPv6' : 'IPv4';
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kubernetes', namespace: 'default', labels: { ...LABELS } },
    spec: {
      type: 'ClusterIP',
      clusterIP: clusterIp,
      clusterIPs: [clusterIp],
      ipFamilies: [family],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
      sessionAffinity: 'None',
      ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort }],
    },
    status: { loadBalancer: {} },
  };
}

export function kubernetesEndpoints(addresses: readonly AdvertisedAddress[]): EndpointsObject {
  const ports = [...new Set(addresses.map((address) => address.port))];
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
    },
    subsets: ports.map((port) => ({
      addresses: addresses.filter((address) => address.port === port).map(({ ip }) => ({ ip })),
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    })),
  };
}

/** Its EndpointSlice: of the servers at the first one's port, as all should be. */
export function kubernetesEndpointSlice(addresses: readonly AdvertisedAddress[]): EndpointSlice {
  const first = addresses[0];
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'kubernetes', namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: first !== undefined && first.ip.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: addresses
      .filter(({ port }) => port === first?.port)
      .map(({ ip }) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: [{ name: 'https', port: first?.port ?? 443, protocol: 'TCP' }],
  };
}
