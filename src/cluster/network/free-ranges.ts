/** Which ranges of nodes are still free: each within the cluster's, none overlapping another. */
import { cidrContains, formatCidr, parseCidr, type Cidr } from '../../base/cidr.ts';

export class FreeRanges {
  readonly #cluster: readonly Cidr[];
  readonly #taken = new Set<string>();
  /** All ranges that hold a taken one. */
  readonly #around = new Set<string>();

  constructor(clusterRanges: readonly string[]) {
    this.#cluster = clusterRanges.flatMap((range) => parseCidr(range) ?? []);
  }

  /** False: it is no range in its canonical form, lies outside the cluster's, or is not free. */
  take(range: string): boolean {
    const wanted = parseCidr(range);
    if (wanted === undefined || formatCidr(wanted) !== range) return false;
    const within = this.#cluster.find(
      (cluster) =>
        wanted.prefixLength > cluster.prefixLength &&
        cidrContains(cluster, { family: wanted.family, value: wanted.base }),
    );
    if (within === undefined || this.#taken.has(range) || this.#around.has(range)) return false;
    const around = rangesAround(wanted, within.prefixLength);
    if (around.some((larger) => this.#taken.has(larger))) return false;
    this.#taken.add(range);
    for (const larger of around) this.#around.add(larger);
    return true;
  }
}

/** The ranges that hold this one, down to a length of their prefix. */
function rangesAround({ family, base, prefixLength }: Cidr, shortest: number): string[] {
  const width = family === 4 ? 32 : 128;
  return Array.from({ length: prefixLength - shortest }, (_, index) => {
    const length = shortest + index;
    const hostBits = BigInt(width - length);
    return formatCidr({ family, base: (base >> hostBits) << hostBits, prefixLength: length });
  });
}
