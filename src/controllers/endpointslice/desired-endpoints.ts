/** The endpoints a Service should have, grouped by their ports. Pure. Upstream: endpointslice reconciler, podToEndpoint. */
import type { Endpoint, EndpointPort } from '../../api/gen/discovery-v1.ts';
import type { Node, Pod, Service } from '../../api/gen/core-v1.ts';
import { StepMeter, type Steps } from '../../base/steps.ts';
import { zoneOf } from '../../component-helpers/nodes.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import { wantsTopologyHints } from './topology-hints.ts';
import { canBeEndpoint, endpointHostname, podIpsOfFamily, podTargetRef } from '../service-endpoints.ts';
import { TargetPorts, type TargetPort } from '../target-ports.ts';

export type AddressType = 'IPv4' | 'IPv6';

/** Ports of pods that are looked at in one step. */
const PORTS_PER_STEP = 5000;

/** Endpoints that share the same ports. */
export interface PortGroup {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Endpoint[];
}

/** The address types of a Service, its primary family first. */
export function addressTypesOf(service: Service): AddressType[] {
  const families = service.spec?.ipFamilies ?? [];
  return families.length > 0 ? (families as AddressType[]) : ['IPv4'];
}

/**
 * Groups the Service's pods of one address type by their ports; the key is {@link portsKey}. Pods on unknown nodes
 * are left out, unless the Service publishes not-ready addresses.
 */
export function* desiredGroups(
  service: Service,
  pods: readonly Pod[],
  addressing: { readonly type: AddressType; readonly nodeOf: (name: string) => Node | undefined },
): Steps<Map<string, PortGroup>> {
  const groups = new Map<string, PortGroup>();
  const targets = new TargetPorts(service);
  /** Groups by the pods' named ports. */
  const groupsByPorts = new Map<string, PortGroup>();
  const meter = new StepMeter(PORTS_PER_STEP);
  for (const pod of pods) {
    if (!canBeEndpoint(pod, true) || isLost(service, pod, addressing.nodeOf)) continue;
    const addresses = podIpsOfFamily(pod, addressing.type === 'IPv4' ? 4 : 6);
    if (addresses.length === 0) continue;
    const named = targets.named(pod);
    if (meter.endsStep(1 + targets.sizeOf(pod) + named.length)) yield;
    const names = named
      .map((target) => target.key)
      .sort()
      .join();
    let group = groupsByPorts.get(names);
    if (group === undefined) groupsByPorts.set(names, (group = groupOf(groups, targets.inOrder(named))));
    group.endpoints.push(endpointOf(service, pod, { addresses, node: addressing.nodeOf(pod.spec?.nodeName ?? '') }));
  }
  return groups;
}

/** Whether the pod's node is unknown: deleted, or not observed yet. */
export function isLost(service: Service, pod: Pod, nodeOf: (name: string) => Node | undefined): boolean {
  return service.spec?.publishNotReadyAddresses !== true && nodeOf(pod.spec?.nodeName ?? '') === undefined;
}

/** A key of a set of ports that does not depend on their order. */
export function portsKey(ports: readonly EndpointPort[]): string {
  let key = portsKeys.get(ports);
  if (key === undefined) {
    const texts = ports.map((port) =>
      JSON.stringify([port.name ?? '', port.protocol ?? 'TCP', port.port, port.appProtocol]),
    );
    portsKeys.set(ports, (key = texts.sort().join()));
  }
  return key;
}

/** Slices are compared at each sync of their service, and may have thousands of ports. */
const portsKeys = new WeakMap<readonly EndpointPort[], string>();

function groupOf(groups: Map<string, PortGroup>, targets: readonly TargetPort[]): PortGroup {
  const ports = targets.map(({ port: { name = '', protocol = 'TCP', appProtocol }, number }): EndpointPort => ({
    name,
    port: number,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }));
  const key = portsKey(ports);
  let group = groups.get(key);
  if (group === undefined) groups.set(key, (group = { ports, endpoints: [] }));
  return group;
}

function endpointOf(
  service: Service,
  pod: Pod,
  placement: { readonly addresses: string[]; readonly node: Node | undefined },
): Endpoint {
  const serving = isPodReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const nodeName = pod.spec?.nodeName;
  const zone = placement.node === undefined ? undefined : zoneOf(placement.node);
  const hostname = endpointHostname(pod, service);
  const hints = ready ? hintsOf(service, { zone, nodeName }) : undefined;
  return {
    addresses: placement.addresses,
    conditions: { ready, serving, terminating },
    ...(hostname === undefined ? {} : { hostname }),
    targetRef: podTargetRef(pod),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(zone === undefined ? {} : { zone }),
    ...(hints === undefined ? {} : { hints }),
  };
}

function hintsOf(
  service: Service,
  at: { readonly zone: string | undefined; readonly nodeName: string | undefined },
): Endpoint['hints'] {
  const distribution = wantsTopologyHints(service) ? undefined : service.spec?.trafficDistribution;
  if (distribution !== 'PreferClose' && distribution !== 'PreferSameZone' && distribution !== 'PreferSameNode')
    return undefined;
  const forZones = at.zone === undefined ? {} : { forZones: [{ name: at.zone }] };
  const forNodes =
    distribution === 'PreferSameNode' && at.nodeName !== undefined ? { forNodes: [{ name: at.nodeName }] } : {};
  const hints = { ...forZones, ...forNodes };
  return Object.keys(hints).length === 0 ? undefined : hints;
}
