/** The size of routes in the budget of a snapshot. */
import { compileSize } from '../../api/re2-compile-size.ts';
import type { Backend } from './snapshot.ts';
import { bytesOf, PLACED_ROUTE_BYTES } from './snapshot-budget.ts';

/** Memory of an instruction of a compiled regular expression, in the data plane. */
const INSTRUCTION_BYTES = 128;

/** Patterns are known before they are compiled: 32,000 instructions fill an object's budget. */
export function costOfPatterns(patterns: readonly string[]): number {
  let instructions = 0;
  for (const pattern of new Set(patterns)) instructions += compileSize(pattern);
  return instructions * INSTRUCTION_BYTES;
}

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
