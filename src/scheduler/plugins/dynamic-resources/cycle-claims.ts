/** The state of a scheduling cycle about the claims of its pod. Upstream: stateData, inFlightAllocations. */
import type { AllocationResult, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import type { Client } from '../../../client/client.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Random } from '../../../platform/random.ts';
import type { DynamicResourcesArgs } from '../../config/plugin-args.ts';
import { DeviceUse, joinedUse, type UsedDevices } from '../../devices/device-use.ts';
import { allDevices, type NodeDevices } from '../../devices/device-pools.ts';
import type { ClusterObjects, DeviceMetrics } from '../../framework/plugin-deps.ts';
import { wantedClaim, type WantedClaim } from './claim-requests.ts';
import type { ExtendedResources, ExtendedWant } from './extended-claim.ts';
import { SearchBudget } from './search-budget.ts';

export interface DynamicResourcesDeps extends Pick<
  ClusterObjects,
  'pod' | 'resourceClaim' | 'extendedClaimOf' | 'deviceUse' | 'resourceSlices' | 'deviceClass' | 'extendedResourceClass'
> {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly schedulerName: string;
  readonly deviceMetrics: DeviceMetrics;
}

export interface CycleClaims {
  readonly claims: readonly ResourceClaim[];
  readonly wanted: readonly WantedClaim[];
  readonly pools: NodeDevices;
  /** The devices in use now. */
  readonly used: () => UsedDevices;
  readonly budget: SearchBudget;
  /** The allocations found, by node. */
  readonly found: Map<string, NodeAllocation>;
  readonly extended: ExtendedResources | undefined;
  /** The allocations chosen, by the claim's uid. */
  readonly taken: Map<string, Decision>;
  /** Claims whose devices some node cannot reach. */
  readonly outOfReach: Set<ResourceClaim>;
}

/** Allocations in the order of the wanted claims. The one for extended resources, if any, is last. */
interface NodeAllocation {
  readonly results: readonly AllocationResult[];
  readonly extended: ExtendedWant | undefined;
}

/** An allocation that a cycle has chosen for its node. */
export interface Decision {
  readonly allocation: AllocationResult;
  /** Set once it is written: the resource versions of the claim before it. */
  before?: ReadonlySet<string>;
}

export type InFlight = Map<string, Decision>;

/** Requests and their alternatives in all claims of a pod. */
const MAX_ALTERNATIVES = 10_000;

/** The requests that need devices on a node. */
export function claimsForNode(
  cycle: Pick<CycleClaims, 'wanted'> | undefined,
  want: ExtendedWant | undefined,
): WantedClaim[] {
  const wanted = cycle?.wanted ?? [];
  if (want === undefined || want.wanted.claim.status?.allocation !== undefined) return [...wanted];
  return [...wanted, want.wanted];
}

/** The wanted claims and the devices in use. */
export function prepareCycleClaims(
  deps: DynamicResourcesDeps & Pick<DynamicResourcesArgs, 'filterTimeoutMs'>,
  { claims, extended }: Pick<CycleClaims, 'claims' | 'extended'>,
  inFlight: InFlight,
): CycleClaims {
  const unallocated = claims.filter(({ status }) => status?.allocation === undefined);
  checkSize(unallocated);
  const wanted = unallocated.map((claim) => wantedClaim(claim, deps.deviceClass));
  const outOfReach = new Set<ResourceClaim>();
  const budget = new SearchBudget({ clock: deps.clock, timeoutMs: deps.filterTimeoutMs });
  const cycle = { claims, wanted, extended, budget, found: new Map(), taken: new Map(), outOfReach };
  if (wanted.length === 0 && extended === undefined)
    return { ...cycle, pools: { devices: [], counters: new Map() }, used: deps.deviceUse };
  return { ...cycle, pools: allDevices(deps.resourceSlices()), used: usedWith(inFlight, deps.deviceUse()) };
}

/** All requests are prepared in one turn, with the constraints that name them. Upstream has no limit of a pod's claims together. */
function checkSize(claims: readonly ResourceClaim[]): void {
  let count = 0;
  for (const { spec } of claims)
    for (const { firstAvailable } of spec.devices?.requests ?? []) count += firstAvailable?.length ?? 1;
  if (count > MAX_ALTERNATIVES)
    throw new Error(`the pod's claims have more than ${MAX_ALTERNATIVES} requests together`);
}

/** The devices of claims and of allocations in flight, which are looked at again when a claim has changed. */
function usedWith(inFlight: InFlight, use: DeviceUse): () => UsedDevices {
  let version: number | undefined;
  let used: UsedDevices = use;
  return () => {
    if (version === use.version) return used;
    version = use.version;
    for (const uid of [...inFlight.keys()]) {
      const claim = use.claim(uid);
      if (claim !== undefined) forgetKnown(inFlight, claim);
    }
    used = use;
    if (inFlight.size === 0) return used;
    const flying = new DeviceUse();
    for (const { allocation } of inFlight.values()) flying.add(allocation);
    used = joinedUse(use, flying);
    return used;
  };
}

/** Drops in-flight allocations that the claim's informer shows by now, even if they have been released since. */
export function forgetKnown(inFlight: InFlight, { metadata, status }: ResourceClaim): void {
  const before = inFlight.get(metadata.uid ?? '')?.before;
  const isNewer = before !== undefined && !before.has(metadata.resourceVersion ?? '');
  if (status?.allocation !== undefined || isNewer) inFlight.delete(metadata.uid ?? '');
}

export const NAME = 'DynamicResources';
