/**
 * Limits the connections of clients and the requests on them, for all ports of a data plane. Each request may have a connection
 * to a backend, so the limits leave room among the process's file descriptors. One address gets half of each.
 */
import { ConnectionCount, type ConnectionLimits } from '../../base/connection-count.ts';
import { ownConnectionLimits } from '../../platform/node/connection-limits.ts';

/** A request with its backend takes some 20 KB. */
const MAX_REQUESTS = 16_384;

export interface PlaneLimits {
  readonly connections: ConnectionCount;
  /** Switched and passed-through connections count as requests as long as they last. */
  readonly requests: ConnectionCount;
}

export function createPlaneLimits({ total }: Pick<ConnectionLimits, 'total'> = ownConnectionLimits()): PlaneLimits {
  return {
    connections: new ConnectionCount(halfForOne((total * 2) / 3)),
    requests: new ConnectionCount(halfForOne(Math.min(MAX_REQUESTS, total / 4))),
  };
}

function halfForOne(total: number): ConnectionLimits {
  return { total: Math.floor(total), ofOneAddress: Math.ceil(total / 2) };
}
