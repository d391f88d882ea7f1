/**
 * Allocates addresses from one service range. Dynamic addresses are taken at random from the upper band of the range,
 * so that the lower band stays free for chosen addresses; they use the lower band only when the upper is full. Calls
 * are synchronous, so that each allocation is atomic. Upstream: registry/core/service/ipallocator.
 */
import { cidrContains, cidrSize, formatCidr, formatIp, type Cidr, type IpAddress } from '../../../../base/cidr.ts';
import type { Random } from '../../../../platform/random.ts';

/** The reason why an address cannot be allocated, in upstream's words. */
export class AllocationError extends Error {
  override readonly name = 'AllocationError';
}

/** The largest part of an IPv6 range used for dynamic addresses. */
const MAX_DYNAMIC_SIZE = 1 << 20;

export class IpAllocator {
  readonly range: Cidr;
  readonly #random: Random;
  readonly #taken = new Set<bigint>();
  readonly #reserved: ReadonlySet<bigint>;
  readonly #size: number;

  /** `reserved`: addresses that are never allocated. */
  constructor(range: Cidr, random: Random, reserved: readonly IpAddress[] = []) {
    this.range = range;
    this.#random = random;
    this.#reserved = new Set(reserved.map(({ value }) => value));
    // Neither the network address nor IPv4's broadcast address is allocated.
    const usable = cidrSize(range) - (range.family === 4 ? 2n : 1n);
    this.#size = Number(usable > BigInt(MAX_DYNAMIC_SIZE) ? BigInt(MAX_DYNAMIC_SIZE) : usable < 0n ? 0n : usable);
  }

  contains(ip: IpAddress): boolean {
    return cidrContains(this.range, ip);
  }

  has(ip: IpAddress): boolean {
    return this.#taken.has(ip.value);
  }

  /** The number of free addresses. */
  get free(): number {
    return this.#size - this.#taken.size;
  }

  /** Allocates the address that a user chose. Throws {@link AllocationError}. */
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

  /** Allocates any free address. Throws {@link AllocationError} when there is none. */
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

/** The start of the band for dynamic addresses: a sixteenth of the range, between 16 and 256; 0 for tiny ranges. */
function bandOffset(size: number): number {
  if (size < 16) return 0;
  return Math.min(Math.max(16, Math.floor(size / 16)), 256);
}
