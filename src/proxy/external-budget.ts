/**
 * How many elements external addresses of one service may make: ports times addresses times source ranges. Whoever may
 * write a service would fill the memory of every node otherwise. Upstream has no bound.
 */
import type { Service } from '../api/gen/core-v1.ts';

const maxElements = 100_000;

/** Why the external addresses of a service are not served; undefined: they are. Node ports and the cluster IP always are. */
export function externalExcess({ spec, status }: Pick<Service, 'spec' | 'status'>): string | undefined {
  const ports = spec?.ports?.length ?? 0;
  const balanced = spec?.type === 'LoadBalancer' ? (status?.loadBalancer?.ingress?.length ?? 0) : 0;
  const ranges = Math.max(1, spec?.loadBalancerSourceRanges?.length ?? 0);
  const elements = ports * ((spec?.externalIPs?.length ?? 0) + balanced * ranges);
  if (elements <= maxElements) return undefined;
  return `its ports, external addresses and source ranges make ${elements} elements, at most ${maxElements} are programmed`;
}
