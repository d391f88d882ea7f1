/**
 * The rate at which nodes of a zone get NoExecute taints: slower when many fail at once, since the cause is then
 * probably on our side. Upstream: controller/nodelifecycle ComputeZoneState, handleDisruption.
 */
import type { Node } from '../../api/gen/core-v1.ts';
import { isNodeReady, zoneKeyOf } from '../../component-helpers/nodes.ts';

const EVICTIONS_PER_SECOND = 0.1;
const SECONDARY_EVICTIONS_PER_SECOND = 0.01;
const UNHEALTHY_THRESHOLD = 0.55;
const LARGE_ZONE_NODES = 50;

export type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption';

/** The zones' eviction rates in nodes per second, and whether every zone is down, in which case nothing is evicted. */
export function zoneRates(nodes: readonly Node[]): {
  readonly rates: ReadonlyMap<string, number>;
  readonly allDown: boolean;
} {
  const zones = Map.groupBy(nodes, zoneKeyOf);
  const states = new Map([...zones].map(([zone, members]) => [zone, stateOf(members)]));
  const allDown = states.size > 0 && [...states.values()].every((state) => state === 'FullDisruption');
  const rates = new Map(
    [...zones].map(([zone, members]) => [zone, allDown ? 0 : rateOf(states.get(zone) as ZoneState, members.length)]),
  );
  return { rates, allDown };
}

function stateOf(nodes: readonly Node[]): ZoneState {
  const ready = nodes.filter(isNodeReady).length;
  const notReady = nodes.length - ready;
  if (ready === 0 && notReady > 0) return 'FullDisruption';
  if (notReady > 2 && notReady / nodes.length >= UNHEALTHY_THRESHOLD) return 'PartialDisruption';
  return 'Normal';
}

function rateOf(state: ZoneState, size: number): number {
  if (state !== 'PartialDisruption') return EVICTIONS_PER_SECOND;
  return size > LARGE_ZONE_NODES ? SECONDARY_EVICTIONS_PER_SECOND : 0;
}
