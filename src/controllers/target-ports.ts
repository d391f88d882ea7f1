/**
 * The numbers of a Service's target ports on its pods. Upstream: pkg/api/v1/pod FindPort.
 *
 * A Service may have thousands of ports, and each of its pods thousands of container ports: each list is walked once.
 */
import { sidecarsOf } from '../api/pod-containers.ts';
import type { Pod, Service, ServicePort } from '../api/gen/core-v1.ts';

/** A Service's port and its number on a pod. */
export interface TargetPort {
  readonly port: ServicePort;
  readonly number: number;
}

/** Ports of a Service that refer to one named port of a pod, and its number. */
export interface NamedTarget {
  /** Equal for equal ports and number. */
  readonly key: string;
  readonly ports: readonly ServicePort[];
  readonly number: number;
}

/** The ports of one Service, indexed. */
export class TargetPorts {
  /** Ports with a numeric target, which is the same on every pod. */
  readonly fixed: readonly TargetPort[];
  readonly #ports: readonly ServicePort[];
  readonly #byName: ReadonlyMap<string, readonly ServicePort[]>;

  constructor(service: Service) {
    this.#ports = service.spec?.ports ?? [];
    this.fixed = this.#ports.flatMap((port) => {
      const number = fixedNumber(port);
      return number === undefined ? [] : [{ port, number }];
    });
    const named = this.#ports.filter((port) => fixedNumber(port) === undefined);
    this.#byName = Map.groupBy(named, ({ targetPort, protocol }) => nameKey(String(targetPort), protocol));
  }

  /** The pod's ports that the Service refers to by name. The first container port with a name counts. */
  named(pod: Pod): NamedTarget[] {
    if (this.#byName.size === 0) return [];
    const found = new Map<string, NamedTarget>();
    const sidecars = sidecarsOf(pod.spec);
    for (const container of [...(pod.spec?.containers ?? []), ...sidecars]) {
      for (const { name, protocol, containerPort } of container.ports ?? []) {
        if (name === undefined) continue;
        const key = nameKey(name, protocol);
        const ports = this.#byName.get(key);
        if (ports !== undefined && !found.has(key))
          found.set(key, { key: `${key} ${containerPort}`, ports, number: containerPort });
      }
    }
    return [...found.values()];
  }

  /** How many ports of the pod `named` goes through. */
  sizeOf({ spec }: Pod): number {
    if (this.#byName.size === 0) return 0;
    return [...(spec?.containers ?? []), ...sidecarsOf(spec)].reduce((sum, { ports }) => sum + (ports?.length ?? 0), 0);
  }

  /** The targets of `named` and the fixed ones, in the Service's order. */
  inOrder(named: readonly NamedTarget[]): TargetPort[] {
    const numbers = new Map(this.fixed.map(({ port, number }) => [port, number]));
    for (const { ports, number } of named) for (const port of ports) numbers.set(port, number);
    return this.#ports.flatMap((port) => {
      const number = numbers.get(port);
      return number === undefined ? [] : [{ port, number }];
    });
  }
}

/** Undefined: the target port is a name. */
function fixedNumber({ port, targetPort = port }: ServicePort): number | undefined {
  if (typeof targetPort === 'number') return targetPort === 0 ? port : targetPort;
  return targetPort === '' ? port : undefined;
}

function nameKey(name: string, protocol = 'TCP'): string {
  return `${protocol}/${name}`;
}
