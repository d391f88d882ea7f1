/** Keeps track of the free node ranges: each lies within the cluster's range and overlaps no other. */
import { cidrContains, formatCidr, parseCidr, type Cidr } from '../../base/cidr.ts';

export class FreeRanges {
  readonly #cluster: readonly Cidr[];
  readonly #taken = new Set<string>();
  /** Every wider range that contains a taken range. */
  readonly #around = new Set<string>();

  constructor(clusterRanges: readonly string[]) {
    this.#cluster = clusterRanges.flatMap((range) => parseCidr(range) ?? []);
  }

  /** Returns false when the text is not a range in canonical form, lies outside the cluster's range or is not free. */
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

/** The ranges that contain this one, up to the given prefix length. */
function rangesAround({ family, base, prefixLength }: Cidr, shortest: number): string[] {
  const width = family === 4 ? 32 : 128;
  return Array.from({ length: prefixLength - shortest }, (_, index) => {
    const length = shortest + index;
    const hostBits = BigInt(width - length);
    return formatCidr({ family, base: (base >> hostBits) << hostBits, prefixLength: length });
  });
}
