/**
 * Hands out addresses of one service range. A dynamic address comes from the upper band of the range at random, so that
 * the lower band stays free for addresses users choose; only a full upper band spills into it. Single-threaded calls
 * make every take atomic. Upstream: registry/core/service/ipallocator.
 */
import { cidrContains, cidrSize, formatCidr, formatIp, type Cidr, type IpAddress } from '../../../../base/cidr.ts';
import type { Random } from '../../../../platform/random.ts';

/** Why an address cannot be had; the message is upstream's. */
export class AllocationError extends Error {
  override readonly name = 'AllocationError';
}

/** Largest part of an IPv6 range that dynamic addresses come from. */
const MAX_DYNAMIC_SIZE = 1 << 20;

export class IpAllocator {
  readonly range: Cidr;
  readonly #random: Random;
  readonly #taken = new Set<bigint>();
  readonly #reserved: ReadonlySet<bigint>;
  readonly #size: number;

  /** `reserved`: addresses that no service gets, whether chosen or not. */
  constructor(range: Cidr, random: Random, reserved: readonly IpAddress[] = []) {
    this.range = range;
    this.#random = random;
    this.#reserved = new Set(reserved.map(({ value }) => value));
    // The network address is never given out, nor is IPv4's broadcast address.
    const usable = cidrSize(range) - (range.family === 4 ? 2n : 1n);
    this.#size = Number(usable > BigInt(MAX_DYNAMIC_SIZE) ? BigInt(MAX_DYNAMIC_SIZE) : usable < 0n ? 0n : usable);
  }

  contains(ip: IpAddress): boolean {
    return cidrContains(this.range, ip);
  }

  has(ip: IpAddress): boolean {
    return this.#taken.has(ip.value);
  }

  /** Free addresses left for dynamic use. */
  get free(): number {
    return this.#size - this.#taken.size;
  }

  /** Takes the address a user chose. Throws {@link AllocationError}. */
  take(ip: IpAddress): void {
    const offset = ip.value - this.range.base;
    const last = cidrSize(this.range) - (this.range.family === 4 ? 1n : 0n);
    if (!this.contains(ip) || offset === 0n || offset >= last) {
      throw new AllocationError(
        `provided IP (${formatIp(ip)}) is not in the valid range. The range of valid IPs is ${formatCidr(this.range)}`,
      );
    }
    if (this.#reserved.has(ip.value)) throw new AllocationError('provided IP is reserved for cluster DNS');
    if (this.#taken.has(ip.value)) throw new AllocationError('provided IP is already allocated');
    this.#taken.add(ip.value);
  }

  /** Takes any free address. Throws {@link AllocationError} when there is none. */
  takeNext(): IpAddress {
    const band = bandOffset(this.#size);
    const offset = this.#findFree(band, this.#size) ?? this.#findFree(0, band);
    if (offset === undefined) throw new AllocationError('range is full');
    const value = this.range.base + BigInt(offset + 1);
    this.#taken.add(value);
    return { family: this.range.family, value };
  }

  release(ip: IpAddress): void {
    this.#taken.delete(ip.value);
  }

  #findFree(from: number, to: number): number | undefined {
    const length = to - from;
    if (length <= 0) return undefined;
    const start = this.#random.int(length);
    for (let step = 0; step < length; step++) {
      const offset = from + ((start + step) % length);
      const value = this.range.base + BigInt(offset + 1);
      if (!this.#taken.has(value) && !this.#reserved.has(value)) return offset;
    }
    return undefined;
  }
}

/** Where the band for dynamic addresses begins: a sixteenth of the range, between 16 and 256; 0 for tiny ranges. */
function bandOffset(size: number): number {
  if (size < 16) return 0;
  return Math.min(Math.max(16, Math.floor(size / 16)), 256);
}
