/** Which range connects the nodes of this machine. Pure. */
import { cidrsOverlap, parseCidr, rangesOf } from '../../base/cidr.ts';

/** Tried in this order: below them are ranges of clusters, above them podman's. */
const NETWORKS: readonly string[] = Array.from({ length: 64 }, (_, at) => `10.58.${at}.0/24`);

/** The first range that overlaps none of these; undefined where all do. */
export function chooseNetwork(taken: readonly string[]): string | undefined {
  const others = taken.flatMap(rangesOf).flatMap((range) => parseCidr(range) ?? []);
  return NETWORKS.find((network) => !others.some((other) => cidrsOverlap(other, parseCidr(network)!)));
}
