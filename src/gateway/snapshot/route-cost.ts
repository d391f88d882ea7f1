/** The size of routes in the budget of a snapshot. */
import type { Backend } from './snapshot.ts';
import { bytesOf, PLACED_ROUTE_BYTES } from './snapshot-budget.ts';

/** Each shared part once, and each match at each host of each port. */
export function costOfRoutes(parts: ReadonlySet<object>, placed: number): number {
  let bytes = placed * PLACED_ROUTE_BYTES;
  for (const part of parts) bytes += bytesOf(part);
  return bytes;
}

/** The sizes of backends by their keys; all routes share the backends. */
export function costOfBackends(backends: Readonly<Record<string, Backend>>): ReadonlyMap<string, number> {
  return new Map(Object.entries(backends).map(([key, backend]) => [key, key.length + bytesOf(backend)]));
}
