/**
 * Limits what each object, each namespace, and all together add to a snapshot. Objects are passed the oldest first; one beyond a
 * limit is left out, so that older ones stay. Without limits one object could make the snapshot exceed any message, and no routes
 * would change any more.
 */

const MIB = 1024 * 1024;

interface SnapshotLimits {
  readonly object: number;
  readonly namespace: number;
  readonly total: number;
}

/** The reason in events and conditions of objects that are left out. */
export const LIMIT_EXCEEDED = 'ResourceLimitExceeded';

/** Some 100,000 paths reach the limit, or 8,000 certificates with their keys. */
export const INGRESS_LIMITS: SnapshotLimits = { object: 4 * MIB, namespace: 16 * MIB, total: 64 * MIB };
/** For rules of HTTPRoutes and GRPCRoutes. */
export const ROUTE_LIMITS: SnapshotLimits = { object: 4 * MIB, namespace: 16 * MIB, total: 64 * MIB };
/** For certificates of Gateways. */
export const GATEWAY_LIMITS: SnapshotLimits = { object: 4 * MIB, namespace: 8 * MIB, total: 32 * MIB };

/** The data plane's memory in bytes for one match at one host of one port. */
export const PLACED_ROUTE_BYTES = 256;

export class SnapshotBudget {
  readonly #limits: SnapshotLimits;
  readonly #shared = new Set<unknown>();
  readonly #usedBy = new Map<string, number>();
  #used = 0;

  constructor(limits: SnapshotLimits) {
    this.#limits = limits;
  }

  /** The account of one object. */
  account(namespace: string): BudgetAccount {
    let ofObject = 0;
    return {
      take: (bytes, shared = new Map()) => {
        let all = bytes;
        for (const [key, size] of shared) if (!this.#shared.has(key)) all += size;
        const ofNamespace = this.#usedBy.get(namespace) ?? 0;
        const { object, namespace: perNamespace, total } = this.#limits;
        if (ofObject + all > object) return `it needs more than ${object / MIB} MiB, the limit of an object`;
        if (ofNamespace + all > perNamespace)
          return `routes of its namespace need more than ${perNamespace / MIB} MiB; older objects have used them up`;
        if (this.#used + all > total)
          return `all routes need more than ${total / MIB} MiB; older objects have used them up`;
        ofObject += all;
        this.#usedBy.set(namespace, ofNamespace + all);
        this.#used += all;
        for (const key of shared.keys()) this.#shared.add(key);
        return undefined;
      },
    };
  }
}

export interface BudgetAccount {
  /**
   * Charges the bytes, and those of shared parts that were not charged yet. Returns the reason, without a charge, when a limit
   * would be exceeded.
   */
  take(bytes: number, shared?: ReadonlyMap<unknown, number>): string | undefined;
}

/** The number of characters of the value in JSON. */
export function bytesOf(value: unknown): number {
  return JSON.stringify(value).length;
}
