/** Sums of the resources of a pod's containers. Upstream: AggregateContainerRequests, AggregateContainerLimits. */
import type { Container, PodSpec } from './gen/core-v1.ts';
import { isRestartableInitContainer } from './pod-containers.ts';
import { addQuantities, compareQuantities } from './quantity.ts';

/**
 * The largest amount of each resource that containers running at once have. Each container is visited once, because clients may
 * name thousands of resources.
 */
export function podAmounts(
  spec: PodSpec,
  part: 'limits' | 'requests',
  isWanted: (name: string) => boolean,
): Map<string, string> {
  const wantedOf = ({ resources }: Container): (readonly [string, string])[] =>
    Object.entries(resources?.[part] ?? {}).filter(([name]) => isWanted(name));
  const total = new Map<string, string>();
  for (const container of spec.containers ?? [])
    for (const [name, amount] of wantedOf(container)) total.set(name, plus(total.get(name), amount));
  const sidecars = new Map<string, string>();
  const largestStep = new Map<string, string>();
  for (const container of spec.initContainers ?? [])
    for (const [name, amount] of wantedOf(container)) {
      const step = plus(sidecars.get(name), amount);
      if (isRestartableInitContainer(container)) {
        total.set(name, plus(total.get(name), amount));
        sidecars.set(name, step);
      }
      largestStep.set(name, larger(largestStep.get(name), step));
    }
  for (const [name, step] of largestStep) total.set(name, larger(total.get(name), step));
  return total;
}

function plus(a: string | undefined, b: string): string {
  return a === undefined ? b : addQuantities(a, b);
}

function larger(a: string | undefined, b: string): string {
  return a === undefined || compareQuantities(a, b) < 0 ? b : a;
}
