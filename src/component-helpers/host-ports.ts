/** Host ports of pods, and whether they collide. Shared by scheduler and kubelet. Upstream: framework.HostPortInfo. */
import { sidecarsOf } from '../api/pod-containers.ts';
import type { Pod } from '../api/gen/core-v1.ts';

/** One requested host port. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const ANY = '0.0.0.0';
const NONE: readonly HostPort[] = [];

/** The host ports of a pod's containers and sidecars. */
export function hostPortsOf(pod: Pod): readonly HostPort[] {
  const spec = pod.spec;
  if (spec === undefined) return NONE;
  const sidecars = sidecarsOf(spec);
  let hostPorts: HostPort[] | undefined;
  for (const container of [...spec.containers, ...sidecars]) {
    for (const port of container.ports ?? []) {
      if ((port.hostPort ?? 0) === 0) continue;
      (hostPorts ??= []).push({
        ip: port.hostIP === undefined || port.hostIP === '' ? ANY : port.hostIP,
        protocol: port.protocol ?? 'TCP',
        port: port.hostPort ?? 0,
      });
    }
  }
  return hostPorts ?? NONE;
}

/** Up to this number, pairs are compared one by one. */
const FEW_PAIRS = 64;

/** Whether any of some host ports conflicts with any of others, in linear time. */
export function anyHostPortsCollide(wanted: readonly HostPort[], used: readonly HostPort[]): boolean {
  if (wanted.length * used.length <= FEW_PAIRS)
    return wanted.some((port) => used.some((other) => hostPortsCollide(port, other)));
  const wantedIps = new Map<string, Set<string>>();
  for (const { protocol, port, ip } of wanted) {
    const key = `${port}/${protocol}`;
    const ips = wantedIps.get(key);
    if (ips === undefined) wantedIps.set(key, new Set([ip]));
    else ips.add(ip);
  }
  return used.some(({ protocol, port, ip }) => {
    const ips = wantedIps.get(`${port}/${protocol}`);
    return ips !== undefined && (ip === ANY || ips.has(ANY) || ips.has(ip));
  });
}

/** Whether two host ports conflict. */
export function hostPortsCollide(a: HostPort, b: HostPort): boolean {
  return a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === ANY || b.ip === ANY);
}
