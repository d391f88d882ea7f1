/** The map and set elements of pods' host ports. Pure. */
import { sidecarsOf } from '../api/pod-containers.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../api/pod-phase.ts';
import { parseIp } from '../base/cidr.ts';
import { hostPortsOf } from '../component-helpers/host-ports.ts';
import { type ChainContext, type ChainTarget, endpointChain } from './chains.ts';
import type { Protocol } from './service-map.ts';
import { type Element, type Frontend, hairpinOf, isLoopback, pushTargets, verdictElement } from './desired-rules.ts';

/** A port of this host that is forwarded to a pod. */
export interface HostPortView {
  /** '' for all addresses of the host. */
  readonly hostIp: string;
  readonly hostPort: number;
  readonly protocol: Protocol;
  readonly podIp: string;
  readonly containerPort: number;
}

/** The conditions under which host ports are served. */
export interface HostPortScope {
  readonly family: 4 | 6;
  /**
   * Whether packets from loopback addresses are routed to pods, and others' are kept from loopback addresses; only
   * for IPv4.
   */
  readonly loopbackHostPorts?: boolean;
  /** TCP ports of the API server and the kubelet on this host: no pod takes them over. */
  readonly ownTcpPorts?: readonly number[];
}

/** Whether a pod uses a port of the host's own servers. */
export function wantsOwnPort(pod: Pod, ownTcpPorts: readonly number[]): boolean {
  if (pod.spec?.hostNetwork === true) return false;
  return containerHostPorts(pod).some(({ protocol, hostPort }) => protocol === 'tcp' && ownTcpPorts.includes(hostPort));
}

/** The host ports of a pod in one family. */
export function hostPortViews(
  pod: Pod,
  { family, loopbackHostPorts, ownTcpPorts = [] }: HostPortScope,
): readonly HostPortView[] {
  const loopback = family === 4 && loopbackHostPorts === true;
  const podIp = podAddress(pod, family);
  if (podIp === undefined || pod.spec?.hostNetwork === true) return [];
  return containerHostPorts(pod).flatMap(({ hostIp, ...port }) => {
    const own = hostIp === '' ? family : parseIp(hostIp)?.family;
    if (own !== family || (isLoopback(hostIp, family) && !loopback)) return [];
    if (port.protocol === 'tcp' && ownTcpPorts.includes(port.hostPort)) return [];
    return [{ ...port, podIp, hostIp: hostIp === '0.0.0.0' || hostIp === '::' ? '' : hostIp }];
  });
}

/** The elements of a pod's host ports. A host port with an address applies only while the host has that address. */
export function hostPortElements(pod: Pod, chains: ChainContext & HostPortScope): readonly Element[] {
  const elements: Element[] = [];
  const views = hostPortViews(pod, chains);
  for (const { hostPort, containerPort, hostIp, protocol, podIp } of views) {
    const frontend: Frontend =
      hostIp === ''
        ? { scope: 'host', key: `${protocol} . ${hostPort}` }
        : { scope: 'host-address', key: `${hostIp} . ${protocol} . ${hostPort}` };
    const pick: ChainTarget = {
      scope: frontend.scope,
      list: 'cluster',
      count: 1,
      affinitySeconds: 0,
      masquerade: false,
    };
    elements.push(verdictElement(frontend, endpointChain(pick, chains)));
    pushTargets({ frontend, pick, chains }, [`${podIp} . ${containerPort}`], elements);
  }
  if (views[0] !== undefined) elements.push(hairpinOf(views[0].podIp));
  return elements;
}

function podAddress(pod: Pod, family: 4 | 6): string | undefined {
  const { podIPs, podIP, phase } = pod.status ?? {};
  if (isPodPhaseTerminal(phase)) return undefined;
  const addresses = podIPs?.map((p) => p.ip ?? '') ?? [podIP ?? ''];
  return addresses.find((a) => parseIp(a)?.family === family);
}

function containerHostPorts(
  pod: Pod,
): { hostPort: number; containerPort: number; hostIp: string; protocol: Protocol }[] {
  if (hostPortsOf(pod).length === 0) return [];
  const spec = pod.spec;
  const sidecars = sidecarsOf(spec);
  return [...(spec?.containers ?? []), ...sidecars].flatMap((c) =>
    (c.ports ?? []).flatMap((p) =>
      (p.hostPort ?? 0) === 0
        ? []
        : [
            {
              hostPort: p.hostPort ?? 0,
              containerPort: p.containerPort,
              hostIp: p.hostIP ?? '',
              protocol: (p.protocol ?? 'TCP').toLowerCase() as Protocol,
            },
          ],
    ),
  );
}
