/**
 * DynamicResources: pods with resource claims run where devices for them are or can be allocated; what is found is written
 * into the claims, with the pod, before it is bound; devices that are made ready after that are waited for. Upstream:
 * plugins/dynamicresources.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { AllocationResult, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { ResourceClaims } from '../../../api/gen/resources.ts';
import { formatTime } from '../../../api/time.ts';
import type { Stored } from '../../../api/object.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Client } from '../../../client/client.ts';
import { isControlledBy } from '../../../component-helpers/owner-references.ts';
import { someTermMatches } from '../../../component-helpers/node-affinity.ts';
import { CLAIM_FINALIZER } from '../../../component-helpers/resource-claims.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Random } from '../../../platform/random.ts';
import { defaultArgs, type DynamicResourcesArgs } from '../../config/plugin-args.ts';
import type { ClusterObjects, DeviceMetrics } from '../../framework/plugin-deps.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { normalizeToHundred } from '../../framework/profile.ts';
import { failed, unresolvable, unschedulable, type Status } from '../../framework/status.ts';
import { allocateClaims } from './allocator.ts';
import {
  deallocate,
  driversToWaitFor,
  hasBindingConditions,
  untilDevicesReady,
  type AwaitedClaim,
} from './binding-conditions.ts';
import { wantedClaim, type WantedClaim } from './claim-requests.ts';
import { usedDevices, type Shares } from '../../devices/consumed-capacity.ts';
import { allDevices, type NodeDevices } from '../../devices/device-pools.ts';
import { deviceEvents } from './device-events.ts';
import {
  findExtendedResources,
  removeExtendedClaim,
  removeMappings,
  isLeftInVain,
  wantOn,
  writeExtendedClaim,
  writeMappings,
  type ExtendedResources,
  type ExtendedWant,
} from './extended-claim.ts';
import { hasRanks, rankScore } from './rank-score.ts';
import { SearchBudget, SearchTimedOut, SearchUnfinished } from './search-budget.ts';

const NAME = 'DynamicResources';
const LEFT_IN_VAIN = unresolvable(NAME, 'cannot schedule extended resource claim');
const UNREACHABLE = unresolvable(NAME, 'resourceclaim not available on the node');
/** Upstream's limit of consumers of one claim. */
const MAX_CONSUMERS = 256;

/** What the plugin works with. */
export interface DynamicResourcesDeps extends Pick<
  ClusterObjects,
  'pod' | 'resourceClaim' | 'resourceClaims' | 'resourceSlices' | 'deviceClass' | 'extendedResourceClass'
> {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly schedulerName: string;
  readonly deviceMetrics: DeviceMetrics;
}

interface CycleClaims {
  readonly claims: readonly ResourceClaim[];
  readonly wanted: readonly WantedClaim[];
  readonly pools: NodeDevices;
  readonly inUse: ReadonlySet<string>;
  readonly shares: Shares;
  readonly budget: SearchBudget;
  /** What was found, by node. */
  readonly found: Map<string, Found>;
  readonly extended: ExtendedResources | undefined;
  /** What was taken, by the claim's uid. */
  readonly taken: Map<string, Decision>;
  /** Claims whose devices some node cannot reach. */
  readonly outOfReach: Set<ResourceClaim>;
}

/** Allocations in the order of what is wanted; the last is that of extended resources, if they are among it. */
interface Found {
  readonly results: readonly AllocationResult[];
  readonly extended: ExtendedWant | undefined;
}

/** An allocation that a cycle has decided on. */
interface Decision {
  readonly allocation: AllocationResult;
  /** Once it is written: the claim's versions before. */
  before?: ReadonlySet<string>;
}

type InFlight = Map<string, Decision>;

/** Creates the plugin. */
export function createDynamicResources(
  deps: DynamicResourcesDeps,
  { bindingTimeoutMs, filterTimeoutMs }: DynamicResourcesArgs = defaultArgs.dynamicResources,
): SchedulerPlugin {
  /** Allocations decided on that the claims may not show yet, by the claim's uid. */
  const inFlight: InFlight = new Map();
  const random = deps.random.fork(NAME);
  const claimsIn = (state: ReadonlyMap<string, unknown>): CycleClaims | undefined =>
    state.get(NAME) as CycleClaims | undefined;
  return {
    name: NAME,
    preEnqueue(pod) {
      const found = findClaims(deps, pod);
      return 'code' in found ? found : undefined;
    },
    preFilter(state, pod) {
      const extended = findExtendedResources(deps, pod);
      if ((pod.spec?.resourceClaims ?? []).length === 0 && extended === undefined)
        return { code: 'skip', reasons: [], plugin: NAME };
      const found = findClaims(deps, pod);
      if ('code' in found) return found;
      for (const claim of found.claims) forgetKnown(inFlight, claim);
      const left = extended?.left === undefined ? [] : [extended.left];
      for (const claim of left) forgetKnown(inFlight, claim);
      const refusal = refuse([...found.claims, ...left], pod, inFlight);
      if (refusal !== undefined) return unresolvable(NAME, refusal);
      try {
        state.set(NAME, prepare({ ...deps, filterTimeoutMs }, { claims: found.claims, extended }, inFlight));
      } catch (error) {
        return unresolvable(NAME, errorMessage(error));
      }
      return undefined;
    },
    filter(state, pod, info) {
      const { node } = info;
      const { claims, wanted, pools, inUse, shares, budget, found, outOfReach, extended } = claimsIn(state)!;
      const far = claims.filter(({ status }) => {
        const terms = status?.allocation?.nodeSelector?.nodeSelectorTerms;
        return terms !== undefined && !someTermMatches(terms, node);
      });
      for (const claim of far) outOfReach.add(claim);
      if (far.length > 0) return UNREACHABLE;
      try {
        const want = extended === undefined ? undefined : wantOn(deps, extended, { pod, node: info });
        if (extended !== undefined && isLeftInVain(extended, want, info)) return LEFT_IN_VAIN;
        const all = wantedOn({ wanted }, want);
        const results = all.length === 0 ? [] : allocateClaims({ node, pools, inUse, shares, budget, claims: all });
        if (results === undefined) return unschedulable(NAME, 'cannot allocate all claims');
        found.set(info.name, { results, extended: want });
        return undefined;
      } catch (error) {
        if (error instanceof SearchUnfinished) return failed(NAME, error);
        if (error instanceof SearchTimedOut) return unschedulable(NAME, error.message);
        return unresolvable(NAME, `cannot allocate claims: ${errorMessage(error)}`);
      }
    },
    postFilter(state, pod) {
      const { claims = [], outOfReach = new Set<ResourceClaim>(), extended } = claimsIn(state) ?? {};
      const left = extended?.left;
      if (left !== undefined)
        return {
          message: 'deletion of ResourceClaim completed',
          commit: () => removeExtendedClaim(deps.client, left),
        };
      if (claims.length === 0) return { message: 'no new claims to deallocate' };
      const idle = [...outOfReach].filter(({ status }) => isIdle(status?.reservedFor, pod));
      if (idle.length === 0) return { message: 'still not schedulable' };
      const claim = idle[random.int(idle.length)]!;
      return {
        message: 'deallocation of ResourceClaim completed',
        commit: () => deallocate(deps, claim, pod),
      };
    },
    preScore: (state) =>
      hasRanks(claimsIn(state)?.wanted ?? []) ? undefined : { code: 'skip', reasons: [], plugin: NAME },
    score(state, _pod, { name }) {
      const { wanted, found } = claimsIn(state)!;
      return rankScore(wanted, found.get(name)?.results ?? []);
    },
    normalize: (_state, _pod, scores) => normalizeToHundred(scores, false),
    reserve(state, _pod, nodeName) {
      const cycle = claimsIn(state);
      const found = cycle?.found.get(nodeName);
      wantedOn(cycle, found?.extended).forEach(({ claim }, at) => {
        const result = found?.results[at];
        if (result === undefined) return;
        const decision: Decision = { allocation: withShareIds(result, random) };
        inFlight.set(claim.metadata.uid ?? '', decision);
        cycle?.taken.set(claim.metadata.uid ?? '', decision);
      });
      return undefined;
    },
    unreserve(state) {
      // What is written only the claims' own news take away; what another cycle has decided since is its own.
      for (const [uid, decision] of claimsIn(state)?.taken ?? [])
        if (decision.before === undefined && inFlight.get(uid) === decision) inFlight.delete(uid);
    },
    preBindPreFlight(state, { status }, nodeName) {
      const cycle = claimsIn(state);
      const hasNoClaims = cycle === undefined || (cycle.claims.length === 0 && !cycle.found.get(nodeName)?.extended);
      return hasNoClaims && status?.extendedResourceClaimStatus === undefined
        ? { code: 'skip', reasons: [], plugin: NAME }
        : undefined;
    },
    async preBind(state, pod, { nodeName, signal }) {
      try {
        const cycle = claimsIn(state);
        const want = cycle?.found.get(nodeName)?.extended;
        if (want === undefined) await removeMappings(deps.client, pod, signal);
        if (cycle === undefined) return undefined;
        const { claims, taken } = cycle;
        const extended = await makeExtendedClaim(deps, { cycle, pod, nodeName, inFlight }, signal);
        const awaited: AwaitedClaim[] = [];
        for (const claim of extended === undefined ? claims : [...claims, extended]) {
          const decision = taken.get(claim.metadata.uid ?? '');
          const allocation = claim.status?.allocation ?? decision?.allocation;
          const before = await reserveFor(deps, { claim, pod, allocation: decision?.allocation }, signal);
          if (decision !== undefined) decision.before = before;
          const drivers = driversToWaitFor(allocation);
          if (drivers.length > 0) awaited.push({ claim, before, drivers });
        }
        if (extended !== undefined && want !== undefined)
          await writeMappings(deps.client, { pod, want, claim: extended }, signal);
        return await waitForDevices({ ...deps, bindingTimeoutMs }, { awaited, pod, taken, inFlight }, signal);
      } catch (error) {
        return failed(NAME, error);
      }
    },
    events: deviceEvents,
  };
}

/** What devices must be found for on a node. */
function wantedOn(cycle: Pick<CycleClaims, 'wanted'> | undefined, want: ExtendedWant | undefined): WantedClaim[] {
  const wanted = cycle?.wanted ?? [];
  if (want === undefined || want.wanted.claim.status?.allocation !== undefined) return [...wanted];
  return [...wanted, want.wanted];
}

/** Writes the claim of the pod's extended resources, if the node has devices for them; what was decided on goes over to it. */
async function makeExtendedClaim(
  deps: DynamicResourcesDeps,
  binding: {
    readonly cycle: CycleClaims;
    readonly pod: Stored<Pod>;
    readonly nodeName: string;
    readonly inFlight: InFlight;
  },
  signal: AbortSignal,
): Promise<ResourceClaim | undefined> {
  const { cycle, pod, inFlight } = binding;
  const want = cycle.found.get(binding.nodeName)?.extended;
  if (want === undefined) return undefined;
  const claim = await writeExtendedClaim(deps, { pod, want }, signal);
  const before = want.wanted.claim.metadata.uid ?? '';
  const decision = cycle.taken.get(before);
  if (decision === undefined) return claim;
  for (const decisions of [cycle.taken, inFlight]) {
    decisions.delete(before);
    decisions.set(claim.metadata.uid ?? '', decision);
  }
  return claim;
}

/** What the cycle needs to know: what is wanted and what is in use. */
function prepare(
  deps: DynamicResourcesDeps & Pick<DynamicResourcesArgs, 'filterTimeoutMs'>,
  { claims, extended }: Pick<CycleClaims, 'claims' | 'extended'>,
  inFlight: InFlight,
): CycleClaims {
  const wanted = claims
    .filter(({ status }) => status?.allocation === undefined)
    .map((claim) => wantedClaim(claim, deps.deviceClass));
  const outOfReach = new Set<ResourceClaim>();
  const budget = new SearchBudget({ clock: deps.clock, timeoutMs: deps.filterTimeoutMs });
  const cycle = { claims, wanted, extended, budget, found: new Map(), taken: new Map(), outOfReach };
  if (wanted.length === 0 && extended === undefined)
    return { ...cycle, pools: { devices: [], counters: new Map() }, inUse: new Set(), shares: new Map() };
  const allocations: AllocationResult[] = [];
  for (const claim of deps.resourceClaims()) {
    forgetKnown(inFlight, claim);
    if (claim.status?.allocation !== undefined) allocations.push(claim.status.allocation);
  }
  const used = usedDevices([...allocations, ...[...inFlight.values()].map(({ allocation }) => allocation)]);
  return { ...cycle, pools: allDevices(deps.resourceSlices()), ...used };
}

/** Whether nobody else uses what is allocated. */
function isIdle(reservedFor: readonly { readonly uid: string }[] = [], { metadata }: Stored<Pod>): boolean {
  return reservedFor.every(({ uid }) => uid === metadata.uid);
}

/** Takes away what the claim itself tells by now, be it that the devices were given back since. */
function forgetKnown(inFlight: InFlight, { metadata, status }: ResourceClaim): void {
  const before = inFlight.get(metadata.uid ?? '')?.before;
  const isNews = before !== undefined && !before.has(metadata.resourceVersion ?? '');
  if (status?.allocation !== undefined || isNews) inFlight.delete(metadata.uid ?? '');
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
  deps: DynamicResourcesDeps & Pick<DynamicResourcesArgs, 'bindingTimeoutMs'>,
  binding: {
    readonly awaited: readonly AwaitedClaim[];
    readonly pod: Stored<Pod>;
    readonly taken: ReadonlyMap<string, Decision>;
    readonly inFlight: InFlight;
  },
  signal: AbortSignal,
): Promise<Status | undefined> {
  const { awaited, pod, taken, inFlight } = binding;
  if (awaited.length === 0) return undefined;
  const startedMs = deps.clock.monotonicMs();
  const problem = await untilDevicesReady(deps, { pod, awaited }, signal);
  const labels = { profile: deps.schedulerName, status: problem?.status ?? 'success' } as const;
  const seconds = (deps.clock.monotonicMs() - startedMs) / 1000;
  for (const driver of new Set(awaited.flatMap(({ drivers }) => drivers)))
    deps.deviceMetrics.waitedFor({ ...labels, driver, seconds });
  if (problem === undefined) return undefined;
  const { claim, why } = problem;
  const { uid = '' } = claim.metadata;
  await deallocate(deps, claim, pod);
  if (inFlight.get(uid) === taken.get(uid)) inFlight.delete(uid);
  return unschedulable(NAME, why);
}

/** The claims of the pod; a rejection while one is still to be made from its template, is missing, or is another pod's. */
function findClaims({ resourceClaim }: DynamicResourcesDeps, pod: Stored<Pod>): { claims: ResourceClaim[] } | Status {
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
    const claim = resourceClaim(pod.metadata.namespace, claimName);
    if (claim === undefined) return unresolvable(NAME, `resourceclaim "${claimName}" not found`);
    if (claim.metadata.deletionTimestamp !== undefined)
      return unresolvable(NAME, `resourceclaim "${claimName}" is being deleted`);
    if (resourceClaimName === undefined && !isControlledBy(claim, pod)) {
      const { namespace, name: podName } = pod.metadata;
      const why = `ResourceClaim ${namespace}/${claimName} was not created for Pod ${namespace}/${podName} (Pod is not owner)`;
      return unresolvable(NAME, why);
    }
    claims.push(claim);
  }
  return { claims };
}

function refuse(
  claims: readonly ResourceClaim[],
  pod: Stored<Pod>,
  inFlight: ReadonlyMap<string, Decision>,
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

/**
 * Writes allocation and consumer; a claim that has changed meanwhile is a conflict, and the pod is tried again. Resolves to
 * the claim's versions before it was allocated.
 */
async function reserveFor(
  { client, clock }: DynamicResourcesDeps,
  reservation: {
    readonly claim: ResourceClaim;
    readonly pod: Stored<Pod>;
    readonly allocation: AllocationResult | undefined;
  },
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { claim, pod } = reservation;
  const before = new Set<string>();
  const { name = '', namespace = '', uid, finalizers = [] } = claim.metadata;
  const reservedFor = claim.status?.reservedFor ?? [];
  const allocation = claim.status?.allocation === undefined ? reservation.allocation : undefined;
  if (allocation === undefined && reservedFor.some((consumer) => consumer.uid === pod.metadata.uid)) return before;
  const resource = client.resource(ResourceClaims);
  let { resourceVersion } = claim.metadata;
  if (allocation !== undefined) before.add(resourceVersion ?? '');
  if (allocation !== undefined && !finalizers.includes(CLAIM_FINALIZER)) {
    const patch = { metadata: { uid, resourceVersion, finalizers: [...finalizers, CLAIM_FINALIZER] } };
    const guarded = await resource.patch({ namespace, name }, { type: 'merge', patch }, { signal });
    resourceVersion = guarded.metadata.resourceVersion;
    before.add(resourceVersion ?? '');
  }
  const consumer = { resource: 'pods', name: pod.metadata.name, uid: pod.metadata.uid };
  const allocationTimestamp = hasBindingConditions(allocation)
    ? { allocationTimestamp: formatTime(clock.nowMs()) }
    : {};
  const status = {
    ...(allocation === undefined ? {} : { allocation: { ...allocation, ...allocationTimestamp } }),
    reservedFor: [...reservedFor, consumer],
  };
  const patch = { metadata: { uid, resourceVersion }, status };
  await resource.patch({ namespace, name }, { type: 'merge', patch }, { subresource: 'status', signal });
  return before;
}
