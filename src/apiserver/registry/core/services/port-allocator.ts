/**
 * Allocates node ports. Protocols share ports: TCP 30000 and UDP 30000 of one service are one allocation. Upstream:
 * registry/core/service/portallocator.
 */
import type { Random } from '../../../../platform/random.ts';
import { AllocationError } from './ip-allocator.ts';

/** An inclusive range of ports. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** The ports of one range. Calls are synchronous, so that each allocation is atomic. */
export class PortAllocator {
  readonly range: PortRange;
  readonly #random: Random;
  readonly #taken = new Set<number>();

  constructor(range: PortRange, random: Random) {
    this.range = range;
    this.#random = random;
  }

  contains(port: number): boolean {
    return port >= this.range.first && port <= this.range.last;
  }

  /** Allocates the port that a user chose. Throws {@link AllocationError}. */
  take(port: number): void {
    if (!this.contains(port)) {
      throw new AllocationError(
        `provided port is not in the valid range. The range of valid ports is ${this.range.first}-${this.range.last}`,
      );
    }
    if (this.#taken.has(port)) throw new AllocationError('provided port is already allocated');
    this.#taken.add(port);
  }

  /** Allocates any free port, from the upper band first. Throws {@link AllocationError} when there is none. */
  takeNext(): number {
    const size = this.range.last - this.range.first + 1;
    const band = portBand(size);
    const port =
      this.#findFree(this.range.first + band, this.range.last) ??
      this.#findFree(this.range.first, this.range.first + band - 1);
    if (port === undefined) throw new AllocationError('range is full');
    this.#taken.add(port);
    return port;
  }

  release(port: number): void {
    this.#taken.delete(port);
  }

  #findFree(first: number, last: number): number | undefined {
    const length = last - first + 1;
    if (length <= 0) return undefined;
    const start = this.#random.int(length);
    for (let step = 0; step < length; step++) {
      const port = first + ((start + step) % length);
      if (!this.#taken.has(port)) return port;
    }
    return undefined;
  }
}

/** The number of ports reserved for users' choice: a thirty-second of the range, between 16 and 128. */
function portBand(size: number): number {
  return size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 32)), 128);
}
