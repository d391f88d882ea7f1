/** Subnets of equal size within one range, and which are in use. Upstream: controller/nodeipam/ipam/cidrset. */
import type { Metrics } from '../../platform/metrics.ts';
import { createCidrSetMetrics, type CidrSetMetrics } from './metrics.ts';
import { cidrsOverlap, formatCidr, nthSubnet, parseCidr, type Cidr } from '../../base/cidr.ts';

/** A range and its subnets. */
export class CidrSet {
  readonly #cluster: Cidr;
  readonly #mask: number;
  readonly #count: number;
  readonly #taken = new Set<number>();
  #next = 0;
  readonly #metrics: CidrSetMetrics | undefined;

  /** Throws on an invalid range, or a mask that does not fit it. */
  constructor(clusterCidr: string, nodeMask: { readonly ipv4: number; readonly ipv6: number }, metrics?: Metrics) {
    const cluster = parseCidr(clusterCidr);
    if (cluster === undefined) throw new Error(`invalid cluster CIDR ${JSON.stringify(clusterCidr)}`);
    const mask = cluster.family === 4 ? nodeMask.ipv4 : nodeMask.ipv6;
    // Upstream's limit: more subnets than that do not fit a map in memory.
    if (mask < cluster.prefixLength || mask - cluster.prefixLength > 16) {
      throw new Error(
        `node CIDR mask size /${mask} does not fit the cluster CIDR ${clusterCidr} (at most 16 bits between them)`,
      );
    }
    this.#cluster = cluster;
    this.#mask = mask;
    this.#count = 2 ** (mask - cluster.prefixLength);
    this.#metrics = metrics && createCidrSetMetrics(metrics, clusterCidr, this.#count);
  }

  get family(): 4 | 6 {
    return this.#cluster.family;
  }

  /** The next free subnet after the last allocated one; undefined when all are in use. */
  allocate(): string | undefined {
    for (let step = 0; step < this.#count; step++) {
      const index = (this.#next + step) % this.#count;
      if (this.#taken.has(index)) continue;
      this.#taken.add(index);
      this.#next = (index + 1) % this.#count;
      this.#metrics?.allocated(step);
      this.#recordUsage();
      return formatCidr(nthSubnet(this.#cluster, this.#mask, index) as Cidr);
    }
    return undefined;
  }

  /** Marks all subnets that overlap the range as in use. */
  occupy(cidr: string): void {
    for (const index of this.#indicesOf(cidr)) this.#taken.add(index);
    this.#recordUsage();
  }

  /** Releases the subnets of the range. */
  release(cidr: string): void {
    for (const index of this.#indicesOf(cidr)) if (this.#taken.delete(index)) this.#metrics?.released();
    this.#recordUsage();
  }

  #recordUsage(): void {
    this.#metrics?.usage(this.#taken.size / this.#count);
  }

  #indicesOf(text: string): number[] {
    const cidr = parseCidr(text);
    if (cidr === undefined || !cidrsOverlap(cidr, this.#cluster)) return [];
    const indices: number[] = [];
    const shift = BigInt((this.family === 4 ? 32 : 128) - this.#mask);
    const first = cidr.base < this.#cluster.base ? 0 : Number((cidr.base - this.#cluster.base) >> shift);
    for (let index = first; index < this.#count; index++) {
      if (!cidrsOverlap(nthSubnet(this.#cluster, this.#mask, index) as Cidr, cidr)) break;
      indices.push(index);
    }
    return indices;
  }
}
