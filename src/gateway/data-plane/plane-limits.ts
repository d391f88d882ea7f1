/**
 * How many connections of clients, and requests on them, a data plane has at a time on all its ports. Each request may have a
 * connection to a backend: together they leave room among the process's file descriptors. One address gets half of each.
 */
import { ConnectionCount, type ConnectionLimits } from '../../base/connection-count.ts';
import { ownConnectionLimits } from '../../platform/node/connection-limits.ts';

/** Requests with their backends take some 20 KB each. */
const MAX_REQUESTS = 16_384;

export interface PlaneLimits {
  readonly connections: ConnectionCount;
  /** Connections that have switched to another protocol, or go to backends as they are, count as long as they last. */
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
