/**
 * DynamicResources: pods with resource claims run where devices for them are or can be allocated; what is found is written
 * into the claims, with the pod, before it is bound; devices that are made ready after that are waited for. Upstream:
 * plugins/dynamicresources. Not here: extended resources that are backed by device classes, device taint rules.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { AllocationResult, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { ResourceClaims } from '../../../api/gen/resources.ts';
import { formatTime } from '../../../api/time.ts';
import type { Client } from '../../../client/client.ts';
import { nodeSelectorTermMatches } from '../../../component-helpers/node-affinity.ts';
import { CLAIM_FINALIZER } from '../../../component-helpers/resource-claims.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Random } from '../../../platform/random.ts';
import type { ClusterObjects } from '../../framework/plugin-deps.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { failed, unresolvable, unschedulable, type Status } from '../../framework/status.ts';
import { allocateClaims } from './allocator.ts';
import { deallocate, hasBindingConditions, untilDevicesReady } from './binding-conditions.ts';
import { wantedClaim, type WantedClaim } from './claim-requests.ts';
import { usedDevices, type Shares } from './consumed-capacity.ts';
import { allDevices, type NodeDevices } from './device-pools.ts';

const NAME = 'DynamicResources';
const UNREACHABLE = unresolvable(NAME, 'resourceclaim not available on the node');
/** Upstream's limit of consumers of one claim. */
const MAX_CONSUMERS = 256;

/** What the plugin works with. */
export interface DynamicResourcesDeps extends Pick<
  ClusterObjects,
  'resourceClaim' | 'resourceClaims' | 'resourceSlices' | 'deviceClass'
> {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
}

interface CycleClaims {
  readonly claims: readonly ResourceClaim[];
  readonly wanted: readonly WantedClaim[];
  readonly pools: NodeDevices;
  readonly inUse: ReadonlySet<string>;
  readonly shares: Shares;
  /** What was found, by node. */
  readonly found: Map<string, readonly AllocationResult[]>;
}

/** Creates the plugin. */
export function createDynamicResources(deps: DynamicResourcesDeps): SchedulerPlugin {
  /** Allocations decided on that the claims may not show yet, by the claim's uid. */
  const inFlight = new Map<string, AllocationResult>();
  /** Those of them that are written: only the claims' own news takes them away. */
  const written = new Set<string>();
  const random = deps.random.fork(NAME);
  const claimsIn = (state: ReadonlyMap<string, unknown>): CycleClaims | undefined =>
    state.get(NAME) as CycleClaims | undefined;
  return {
    name: NAME,
    preEnqueue(pod) {
      const found = findClaims(deps, pod);
      return 'code' in found && found.code === 'pending' ? found : undefined;
    },
    preFilter(state, pod) {
      if ((pod.spec?.resourceClaims ?? []).length === 0) return { code: 'skip', reasons: [], plugin: NAME };
      const found = findClaims(deps, pod);
      if ('code' in found) return found;
      const refusal = refuse(found.claims, pod, inFlight);
      if (refusal !== undefined) return unresolvable(NAME, refusal);
      try {
        state.set(NAME, prepare(deps, found.claims, inFlight));
        for (const uid of written) if (!inFlight.has(uid)) written.delete(uid);
      } catch (error) {
        return unresolvable(NAME, error instanceof Error ? error.message : String(error));
      }
      return undefined;
    },
    filter(state, _pod, { node }) {
      const { claims, wanted, pools, inUse, shares, found } = claimsIn(state)!;
      for (const { status } of claims) {
        const terms = status?.allocation?.nodeSelector?.nodeSelectorTerms;
        if (terms !== undefined && !terms.some((term) => nodeSelectorTermMatches(term, node))) return UNREACHABLE;
      }
      if (wanted.length === 0) return undefined;
      try {
        const results = allocateClaims({ node, pools, inUse, shares, claims: wanted });
        if (results === undefined) return unschedulable(NAME, 'cannot allocate all claims');
        found.set(node.metadata.name ?? '', results);
        return undefined;
      } catch (error) {
        return unresolvable(NAME, `cannot allocate claims: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    reserve(state, _pod, nodeName) {
      const cycle = claimsIn(state);
      cycle?.wanted.forEach(({ claim }, at) => {
        const result = cycle.found.get(nodeName)?.[at];
        if (result !== undefined) inFlight.set(claim.metadata.uid ?? '', withShareIds(result, random));
      });
      return undefined;
    },
    unreserve(state) {
      for (const { claim } of claimsIn(state)?.wanted ?? [])
        if (!written.has(claim.metadata.uid ?? '')) inFlight.delete(claim.metadata.uid ?? '');
    },
    async preBind(state, pod, { signal }) {
      try {
        for (const claim of claimsIn(state)?.claims ?? []) {
          const { uid = '' } = claim.metadata;
          await reserveFor(deps, { claim, pod, allocation: inFlight.get(uid) }, signal);
          if (inFlight.has(uid)) written.add(uid);
        }
        return await waitForDevices(deps, { claims: claimsIn(state)?.claims ?? [], pod, inFlight }, signal);
      } catch (error) {
        return failed(NAME, error);
      }
    },
    events: [{ event: 'resource-claim' }, { event: 'pod/update' }],
  };
}

/** What the cycle needs to know: what is wanted and what is in use. */
function prepare(
  deps: DynamicResourcesDeps,
  claims: readonly ResourceClaim[],
  inFlight: Map<string, AllocationResult>,
): CycleClaims {
  const wanted = claims
    .filter(({ status }) => status?.allocation === undefined)
    .map((claim) => wantedClaim(claim, deps.deviceClass));
  if (wanted.length === 0)
    return {
      claims,
      wanted,
      pools: { devices: [], counters: new Map() },
      inUse: new Set(),
      shares: new Map(),
      found: new Map(),
    };
  const allocations: AllocationResult[] = [];
  for (const { metadata, status } of deps.resourceClaims()) {
    if (status?.allocation === undefined) continue;
    allocations.push(status.allocation);
    inFlight.delete(metadata.uid ?? '');
  }
  const used = usedDevices([...allocations, ...inFlight.values()]);
  return { claims, wanted, pools: allDevices(deps.resourceSlices()), ...used, found: new Map() };
}

/** Tells the shares of one device apart. */
function withShareIds(result: AllocationResult, random: Random): AllocationResult {
  const results = result.devices?.results?.map((each) =>
    each.consumedCapacity === undefined ? each : { ...each, shareID: random.uuid() },
  );
  return results === undefined ? result : { ...result, devices: { ...result.devices, results } };
}

/** Until the drivers say that the devices are ready. Those that fail are given back, and the pod is tried again. */
async function waitForDevices(
  deps: DynamicResourcesDeps,
  of: {
    readonly claims: readonly ResourceClaim[];
    readonly pod: Pod;
    readonly inFlight: Map<string, AllocationResult>;
  },
  signal: AbortSignal,
): Promise<Status | undefined> {
  const { claims, pod, inFlight } = of;
  for (const claim of claims) {
    const { uid = '' } = claim.metadata;
    const allocation = claim.status?.allocation ?? inFlight.get(uid) ?? seenAllocation(deps, claim);
    if (!hasBindingConditions(allocation)) continue;
    const problem = await untilDevicesReady(deps, claim, signal);
    if (problem === undefined) continue;
    await deallocate(deps, claim, pod);
    inFlight.delete(uid);
    return unschedulable(NAME, problem);
  }
  return undefined;
}

/** What another cycle may have taken for known already. */
function seenAllocation({ resourceClaim }: DynamicResourcesDeps, { metadata }: ResourceClaim) {
  return resourceClaim(metadata.namespace ?? '', metadata.name ?? '')?.status?.allocation;
}

/** The claims of the pod; a rejection while one is still to be made from its template, or is missing. */
function findClaims({ resourceClaim }: DynamicResourcesDeps, pod: Pod): { claims: ResourceClaim[] } | Status {
  const claims: ResourceClaim[] = [];
  for (const { name, resourceClaimName } of pod.spec?.resourceClaims ?? []) {
    const made = pod.status?.resourceClaimStatuses?.find((one) => one.name === name);
    const claimName = resourceClaimName ?? made?.resourceClaimName;
    if (claimName === undefined) {
      // The template's claim was not needed.
      if (made !== undefined) continue;
      const reason = `waiting for dynamic resource controller to create the resourceclaim for pod ${pod.metadata.namespace}/${pod.metadata.name}`;
      return { code: 'pending', plugin: NAME, reasons: [reason] };
    }
    const claim = resourceClaim(pod.metadata.namespace ?? '', claimName);
    if (claim === undefined) return unresolvable(NAME, `resourceclaim "${claimName}" not found`);
    claims.push(claim);
  }
  return { claims };
}

function refuse(
  claims: readonly ResourceClaim[],
  pod: Pod,
  inFlight: ReadonlyMap<string, AllocationResult>,
): string | undefined {
  for (const { metadata, status } of claims) {
    if (metadata.deletionTimestamp !== undefined) return `resourceclaim "${metadata.name}" is being deleted`;
    if (status?.allocation === undefined && inFlight.has(metadata.uid ?? ''))
      return `resourceclaim ${metadata.name} is in the process of being allocated`;
    const consumers = status?.reservedFor ?? [];
    if (consumers.length >= MAX_CONSUMERS && !consumers.some(({ uid }) => uid === pod.metadata.uid))
      return 'resourceclaim in use';
  }
  return undefined;
}

/** Writes allocation and consumer; a claim that has changed meanwhile is a conflict, and the pod is tried again. */
async function reserveFor(
  { client, clock }: DynamicResourcesDeps,
  of: { readonly claim: ResourceClaim; readonly pod: Pod; readonly allocation: AllocationResult | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { claim, pod } = of;
  const { name = '', namespace = '', uid, finalizers = [] } = claim.metadata;
  const reservedFor = claim.status?.reservedFor ?? [];
  const allocation = claim.status?.allocation === undefined ? of.allocation : undefined;
  if (allocation === undefined && reservedFor.some((consumer) => consumer.uid === pod.metadata.uid)) return;
  const resource = client.resource(ResourceClaims);
  let { resourceVersion } = claim.metadata;
  if (allocation !== undefined && !finalizers.includes(CLAIM_FINALIZER)) {
    const patch = { metadata: { uid, resourceVersion, finalizers: [...finalizers, CLAIM_FINALIZER] } };
    const guarded = await resource.patch({ namespace, name }, { type: 'merge', patch }, { signal });
    resourceVersion = guarded.metadata.resourceVersion;
  }
  const consumer = { resource: 'pods', name: pod.metadata.name ?? '', uid: pod.metadata.uid ?? '' };
  const allocationTimestamp = hasBindingConditions(allocation)
    ? { allocationTimestamp: formatTime(clock.nowMs()) }
    : {};
  const status = {
    ...(allocation === undefined ? {} : { allocation: { ...allocation, ...allocationTimestamp } }),
    reservedFor: [...reservedFor, consumer],
  };
  const patch = { metadata: { uid, resourceVersion }, status };
  await resource.patch({ namespace, name }, { type: 'merge', patch }, { subresource: 'status', signal });
}
