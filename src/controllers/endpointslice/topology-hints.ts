/**
 * Hints of services with `service.kubernetes.io/topology-mode: Auto`: every zone gets endpoints in proportion to its
 * nodes' CPUs, from its own endpoints first, so that traffic stays in the zone without overload. If one zone cannot
 * get enough, no endpoint has a hint. Pure. Upstream: endpointslice/topologycache.
 *
 * Differs on purpose: at each change all slices of a service are allocated again in a fixed order, not only those
 * that are written anyway.
 */
import type { Endpoint } from '../../api/gen/discovery-v1.ts';
import type { Node, Service } from '../../api/gen/core-v1.ts';
import { quantityMilliValue } from '../../api/quantity.ts';
import { isNodeReady, zoneOf } from '../../component-helpers/nodes.ts';
import { compareTexts } from '../../base/compare-texts.ts';

const ANNOTATION = 'service.kubernetes.io/topology-mode';
const EARLY_ANNOTATION = 'service.kubernetes.io/topology-aware-hints';
const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];
/** The event of a service whose endpoints get hints. */
export const HINTS_CHANGED = 'Topology Aware Hints has been enabled';
/** The share by which the endpoints of a zone may be overloaded. */
const OVERLOAD = 0.2;

/** Whether the service requests hints. Its `trafficDistribution` is then ignored. */
export function wantsTopologyHints({ metadata: { annotations = {} } }: Service): boolean {
  const mode = annotations[EARLY_ANNOTATION] ?? annotations[ANNOTATION];
  return mode === 'Auto' || mode === 'auto';
}

/** Each zone's share of the CPUs of ready, schedulable nodes; undefined when a node lacks zone or capacity. */
export function zoneShares(nodes: readonly Node[]): ReadonlyMap<string, number> | undefined {
  const cpus = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    if (!isNodeReady(node) || CONTROL_PLANE.some((label) => node.metadata.labels?.[label] !== undefined)) continue;
    const zone = zoneOf(node) ?? '';
    const cpu = quantityMilliValue(node.status?.allocatable?.['cpu'] ?? '0');
    if (zone === '' || cpu === 0) return undefined;
    cpus.set(zone, (cpus.get(zone) ?? 0) + cpu);
    total += cpu;
  }
  return total === 0 ? undefined : new Map([...cpus].map(([zone, cpu]) => [zone, cpu / total]));
}

/** Whether hints were set, and the event about it. */
export interface TopologyVerdict {
  readonly enabled: boolean;
  readonly message: string;
}

/** Sets the hints of all ready endpoints of one address type in place, or removes all. */
export function addTopologyHints(
  groups: Iterable<{ readonly endpoints: readonly Endpoint[] }>,
  shares: ReadonlyMap<string, number> | undefined,
): TopologyVerdict {
  const endpoints = [...groups]
    .flatMap((group) => group.endpoints)
    .filter(({ conditions }) => conditions?.ready === true);
  const why = obstacle(endpoints, shares);
  if (why !== undefined || shares === undefined) return { enabled: false, message: why ?? '' };
  const byZone = Map.groupBy(endpoints.sort(byName), ({ zone = '' }) => zone);
  for (const [zone, own] of byZone) for (const endpoint of own) hint(endpoint, zone);
  redistribute(byZone, shares, endpoints.length);
  return { enabled: true, message: HINTS_CHANGED };
}

function obstacle(endpoints: readonly Endpoint[], shares: ReadonlyMap<string, number> | undefined): string | undefined {
  // Upstream has a message for a single zone, but never emits it.
  if (shares === undefined || shares.size < 2)
    return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
  if (shares.size > endpoints.length)
    return `Insufficient number of endpoints (${endpoints.length} endpoints, ${shares.size} zones)`;
  let least = 0;
  for (const share of shares.values()) least += Math.ceil((share * endpoints.length) / (1 + OVERLOAD));
  if (least > endpoints.length)
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (${endpoints.length} endpoints, ${shares.size} zones)`;
  return endpoints.some(({ zone = '' }) => zone === '')
    ? 'One or more endpoints do not have a zone specified'
    : undefined;
}

/** Moves endpoints from zones above their share to zones below it, until no zone lacks a whole endpoint. */
function redistribute(
  byZone: ReadonlyMap<string, Endpoint[]>,
  shares: ReadonlyMap<string, number>,
  endpointCount: number,
): void {
  const surplus = new Map<string, number>();
  for (const zone of new Set([...shares.keys(), ...byZone.keys()]))
    surplus.set(zone, (byZone.get(zone)?.length ?? 0) - (shares.get(zone) ?? 0) * endpointCount);
  for (;;) {
    const order = [...surplus].sort(([a, most], [b, less]) => less - most || (a < b ? -1 : 1));
    const [giver, spare] = order[0] ?? ['', 0];
    const [taker, lack] = order.at(-1) ?? ['', 0];
    if (spare < 1 && -lack < 1) return;
    const released = byZone.get(giver)?.pop();
    if (released === undefined) return;
    hint(released, taker);
    surplus.set(giver, spare - 1).set(taker, lack + 1);
  }
}

function hint(endpoint: Endpoint, zone: string): void {
  endpoint.hints = { forZones: [{ name: zone }] };
}

function byName(a: Endpoint, b: Endpoint): number {
  return compareTexts(a.targetRef?.name ?? '', b.targetRef?.name ?? '');
}
