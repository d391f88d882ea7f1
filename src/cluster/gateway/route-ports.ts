/**
 * Decides from stored objects whether routes or a load balancer has a port: by the ports that nodes record as open, the addresses
 * assigned to services, and the ages of the objects. The order of starts does not matter.
 */
import type { Service } from '../../api/gen/core-v1.ts';
import { IngressClasses, Ingresses, Nodes } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { GATEWAY_CONTROLLER } from '../../component-helpers/gateway-class.ts';
import { GatewayClasses, Gateways } from '../../gateway/gateway-api/types.ts';
import { isServedIngress } from '../../gateway/ingress/ingress-class.ts';
import { gatewayPorts } from '../../gateway/ingress/ingress-status.ts';
import type { GatewayPorts } from '../../gateway/snapshot/build-snapshot.ts';
import type { PortUser } from '../../proxy/load-balancer-addresses.ts';
import type { MachinePorts } from './machine-ports.ts';

/** Whether the port belongs to routes rather than to the service. */
export type RoutesPrecede = (service: Service, port: number) => boolean;

/** Decides by the currently stored objects. `ports` are those of ingresses. */
export function routesPrecede(objects: Pick<ObjectStore, 'get' | 'list'>, ports: GatewayPorts): RoutesPrecede {
  const recorded = gatewayPorts(objects.list(Nodes));
  const wanted = wantedPorts(objects, ports);
  return (service, port) => {
    if (recorded.has(port)) return true;
    const since = wanted.get(port);
    const isAssigned = (service.status?.loadBalancer?.ingress ?? []).length > 0;
    return since !== undefined && !isAssigned && since <= (service.metadata.creationTimestamp ?? '');
  };
}

/**
 * The component of this node that uses a port, so that no load balancer gets it. `ports` is absent when the node serves no
 * routes.
 */
export function nodePortUser(
  objects: Pick<ObjectStore, 'get' | 'list'>,
  { machinePorts, ports }: { readonly machinePorts: MachinePorts; readonly ports: GatewayPorts | undefined },
): PortUser {
  const precede = ports === undefined ? () => false : routesPrecede(objects, ports);
  return (service, port) =>
    machinePorts.own.includes(port) || precede(service, port) ? 'the nodes themselves' : undefined;
}

/** Each claimed port with the creation time of the oldest object that claims it. */
function wantedPorts(
  objects: Pick<ObjectStore, 'get' | 'list'>,
  { http, https }: GatewayPorts,
): ReadonlyMap<number, string> {
  const wanted = new Map<number, string>();
  const want = (port: number, since = ''): void => {
    const before = wanted.get(port);
    if (before === undefined || since < before) wanted.set(port, since);
  };
  const classNamed = (name: string) => objects.get(IngressClasses, '', name);
  for (const ingress of objects.list(Ingresses)) {
    if (!isServedIngress(ingress, classNamed)) continue;
    for (const port of [http, https]) want(port, ingress.metadata.creationTimestamp);
  }
  for (const { metadata, spec } of objects.list(Gateways)) {
    const controller = objects.get(GatewayClasses, '', spec.gatewayClassName)?.spec.controllerName;
    if (controller !== GATEWAY_CONTROLLER) continue;
    for (const { port } of spec.listeners ?? []) want(port, metadata.creationTimestamp);
  }
  return wanted;
}
