/** Warnings about conflicting container ports. Upstream: pkg/api/pod warnings. */
import { quote } from '../../base/go-quote.ts';
import type { ContainerPort } from '../gen/core-v1.ts';
import type { PlacedContainer } from './pod-containers.ts';

interface PlacedPort {
  readonly port: ContainerPort;
  readonly path: string;
}

/** A port as Go prints the struct. */
function goForm({ name = '', hostPort = 0, containerPort, protocol = '', hostIP = '' }: ContainerPort): string {
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;
}

/** The warning about two ports of the same number and protocol; undefined when they do not conflict. */
function conflict(a: ContainerPort, b: ContainerPort): string | undefined {
  const { hostIP: ipA = '', hostPort: portA = 0 } = a;
  const { hostIP: ipB = '', hostPort: portB = 0 } = b;
  if (ipA === ipB && portA === portB) return 'duplicate';
  if (portA === 0 || portB === 0) return 'overlapping';
  return portA === portB && (ipA === '') !== (ipB === '') ? 'dangerously ambiguous' : undefined;
}

function portsOf(containers: readonly PlacedContainer[]): PlacedPort[] {
  return containers.flatMap(({ container, path }) =>
    (container.ports ?? []).map((port, index) => ({ port, path: `${path}.ports[${index}]` })),
  );
}

/** The limit of ports of a pod that are compared pairwise. */
const MAX_PORTS = 500;

/** Compares each port with the earlier ones of all containers. */
export function portWarnings(containers: readonly PlacedContainer[]): string[] {
  const ports = portsOf(containers).slice(0, MAX_PORTS);
  const byNumber = new Map<string, PlacedPort[]>();
  const warnings: string[] = [];
  for (const placed of ports) {
    const { port, path } = placed;
    if ((port.hostIP ?? '') !== '' && (port.hostPort ?? 0) === 0)
      warnings.push(`${path}: hostIP set without hostPort: ${goForm(port)}`);
    const key = `${port.containerPort}/${port.protocol ?? ''}`;
    const others = byNumber.get(key) ?? [];
    for (const other of others) {
      const found = conflict(port, other.port);
      if (found !== undefined) warnings.push(`${path}: ${found} port definition with ${other.path}`);
    }
    byNumber.set(key, [...others, placed]);
  }
  return [...warnings, ...nameWarnings(ports)];
}

function nameWarnings(ports: readonly PlacedPort[]): string[] {
  const first = new Map<string, string>();
  return ports.flatMap(({ port: { name = '' }, path }) => {
    if (name === '') return [];
    const other = first.get(name);
    if (other === undefined) {
      first.set(name, path);
      return [];
    }
    const use = `services and probes that select ports by name will use ${other}`;
    return [`${path}: duplicate port name ${quote(name)} with ${other}, ${use}`];
  });
}
