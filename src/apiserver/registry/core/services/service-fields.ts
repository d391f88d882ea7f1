/**
 * Which addresses and ports a service's spec requires or holds. Upstream: apis/core/helper,
 * registry/core/service/storage.
 */
import type { Service } from '../../../../api/gen/core-v1.ts';

/** The clusterIP of headless services. */
const CLUSTER_IP_NONE = 'None';

/** Type, with upstream's default. */
export function serviceType(service: Service): string {
  return service.spec?.type ?? 'ClusterIP';
}

/** Whether the type has cluster IPs; headless services have `None` as theirs. */
export function typeHasClusterIp(service: Service): boolean {
  return serviceType(service) !== 'ExternalName';
}

/** Whether addresses of the service range are needed. */
export function needsClusterIp(service: Service): boolean {
  return typeHasClusterIp(service) && !isHeadless(service);
}

export function isHeadless(service: Service): boolean {
  return typeHasClusterIp(service) && service.spec?.clusterIPs?.[0] === CLUSTER_IP_NONE;
}

/** Whether node ports are needed. */
export function needsNodePort(service: Service): boolean {
  const type = serviceType(service);
  if (type === 'NodePort') return true;
  return type === 'LoadBalancer' && service.spec?.allocateLoadBalancerNodePorts !== false;
}

/** Whether chosen node ports are accepted. */
export function mayHaveNodePort(service: Service): boolean {
  const type = serviceType(service);
  return type === 'NodePort' || type === 'LoadBalancer';
}

/** Whether a health-check node port is needed, by which a load balancer finds the nodes with endpoints. */
export function needsHealthCheckNodePort(service: Service): boolean {
  return serviceType(service) === 'LoadBalancer' && service.spec?.externalTrafficPolicy === 'Local';
}

/** The addresses a service holds. */
export function heldIps(service: Service | undefined): string[] {
  if (service === undefined || !needsClusterIp(service)) return [];
  return (service.spec?.clusterIPs ?? []).filter((ip) => ip !== '' && ip !== CLUSTER_IP_NONE);
}

/** The node ports a service holds, without repeats. */
export function heldPorts(service: Service | undefined): number[] {
  if (service === undefined || !mayHaveNodePort(service)) return [];
  const ports = (service.spec?.ports ?? []).map((port) => port.nodePort ?? 0);
  if (needsHealthCheckNodePort(service)) ports.push(service.spec?.healthCheckNodePort ?? 0);
  return [...new Set(ports.filter((port) => port !== 0))];
}
