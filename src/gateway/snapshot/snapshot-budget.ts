/**
 * Bounds what objects may add to a snapshot: each object, each namespace, and all together. Objects come the oldest first;
 * one that finds its share used up is left out, and those that were there before stay. Without it one object could make
 * a snapshot that no message holds, and nobody's routes would change any more.
 */

const MIB = 1024 * 1024;

interface SnapshotLimits {
  readonly object: number;
  readonly namespace: number;
  readonly total: number;
}

/** The reason in events and conditions of what is left out. */
export const LIMIT_EXCEEDED = 'ResourceLimitExceeded';

/** Some 100,000 paths fill it, or 8,000 certificates with their keys. */
export const INGRESS_LIMITS: SnapshotLimits = { object: 4 * MIB, namespace: 16 * MIB, total: 64 * MIB };
/** Rules of HTTPRoutes and GRPCRoutes. */
export const ROUTE_LIMITS: SnapshotLimits = { object: 4 * MIB, namespace: 16 * MIB, total: 64 * MIB };
/** Certificates of Gateways. */
export const GATEWAY_LIMITS: SnapshotLimits = { object: 4 * MIB, namespace: 8 * MIB, total: 32 * MIB };

/** What the data plane holds for one match at one host of one port. */
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
   * Takes the bytes, and those of the shared things that nobody has paid for yet. Takes nothing and returns why where
   * they are more than a limit leaves.
   */
  take(bytes: number, shared?: ReadonlyMap<unknown, number>): string | undefined;
}

/** As many as the value has characters in JSON. */
export function bytesOf(value: unknown): number {
  return JSON.stringify(value).length;
}
