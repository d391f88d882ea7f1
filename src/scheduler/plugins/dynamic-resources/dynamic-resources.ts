/**
 * DynamicResources: pods with resource claims run where devices are or can be allocated for them. Allocations and the
 * pod are written into the claims before binding, which waits for devices that are prepared later. Upstream:
 * plugins/dynamicresources.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { AllocationResult, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { errorMessage } from '../../../base/errors.ts';
import { someTermMatches } from '../../../component-helpers/node-affinity.ts';
import { isControlledBy } from '../../../component-helpers/owner-references.ts';
import { claimStatusOf } from '../../../component-helpers/resource-claims.ts';
import type { Random } from '../../../platform/random.ts';
import { defaultArgs, type DynamicResourcesArgs } from '../../config/plugin-args.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { normalizeToHundred } from '../../framework/profile.ts';
import { failed, type Status, unresolvable, unschedulable } from '../../framework/status.ts';
import { allocateClaims } from './allocator.ts';
import { bindClaims } from './bind-claims.ts';
import { deallocate } from './binding-conditions.ts';
import {
  type CycleClaims,
  type Decision,
  type DynamicResourcesDeps,
  forgetKnown,
  type InFlight,
  NAME,
  prepareCycleClaims,
  claimsForNode,
} from './cycle-claims.ts';
import { deviceEvents } from './device-events.ts';
import {
  findExtendedResources,
  isUnusableClaim,
  removeExtendedClaim,
  removeMappings,
  extendedClaimFor,
} from './extended-claim.ts';
import { hasRanks, rankScore } from './rank-score.ts';
import { SearchTimedOut, SearchUnfinished } from './search-budget.ts';
const UNUSABLE_CLAIM = unresolvable(NAME, 'cannot schedule extended resource claim');
const UNREACHABLE = unresolvable(NAME, 'resourceclaim not available on the node');
/** Claims of one pod. Upstream has no limit. */
const MAX_CLAIMS = 1_000;
/** Upstream's limit of consumers of one claim. */
const MAX_CONSUMERS = 256;

export function createDynamicResources(
  deps: DynamicResourcesDeps,
  { bindingTimeoutMs, filterTimeoutMs }: DynamicResourcesArgs = defaultArgs.dynamicResources,
): SchedulerPlugin {
  /** Chosen allocations that the informer's claims may not show yet, by the claim's uid. */
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
      if (found.claims.length > MAX_CLAIMS)
        return unresolvable(NAME, `the pod has more than ${MAX_CLAIMS} resource claims`);
      for (const claim of found.claims) forgetKnown(inFlight, claim);
      const left = extended?.left === undefined ? [] : [extended.left];
      for (const claim of left) forgetKnown(inFlight, claim);
      const refusal = unusableReason([...found.claims, ...left], pod, inFlight);
      if (refusal !== undefined) return unresolvable(NAME, refusal);
      try {
        state.set(NAME, prepareCycleClaims({ ...deps, filterTimeoutMs }, { claims: found.claims, extended }, inFlight));
      } catch (error) {
        return unresolvable(NAME, errorMessage(error));
      }
      return undefined;
    },
    filter(state, pod, info) {
      const { node } = info;
      const { claims, wanted, pools, used, budget, found, outOfReach, extended } = claimsIn(state)!;
      const far = claims.filter(({ status }) => {
        const terms = status?.allocation?.nodeSelector?.nodeSelectorTerms;
        return terms !== undefined && !someTermMatches(terms, node);
      });
      for (const claim of far) outOfReach.add(claim);
      if (far.length > 0) return UNREACHABLE;
      try {
        const want = extended === undefined ? undefined : extendedClaimFor(deps, extended, { pod, node: info });
        if (extended !== undefined && isUnusableClaim(extended, want, info)) return UNUSABLE_CLAIM;
        const all = claimsForNode({ wanted }, want);
        const results = all.length === 0 ? [] : allocateClaims({ node, pools, ...used(), budget, claims: all });
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
      const nodeAllocation = cycle?.found.get(nodeName);
      claimsForNode(cycle, nodeAllocation?.extended).forEach(({ claim }, at) => {
        const result = nodeAllocation?.results[at];
        if (result === undefined) return;
        const decision: Decision = { allocation: withShareIds(result, random) };
        inFlight.set(claim.metadata.uid ?? '', decision);
        cycle?.taken.set(claim.metadata.uid ?? '', decision);
      });
      return undefined;
    },
    unreserve(state) {
      // Written allocations are removed only when their claims are updated. A later allocation belongs to another
      // cycle.
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
        return await bindClaims({ ...deps, bindingTimeoutMs }, { cycle, pod, nodeName, inFlight }, signal);
      } catch (error) {
        return failed(NAME, error);
      }
    },
    events: deviceEvents,
  };
}

/** Whether no other pod uses the allocation. */
function isIdle(reservedFor: readonly { readonly uid: string }[] = [], { metadata }: Stored<Pod>): boolean {
  return reservedFor.every(({ uid }) => uid === metadata.uid);
}

/** Adds an id to each share of a device that allows multiple allocations. */
function withShareIds(result: AllocationResult, random: Random): AllocationResult {
  const results = result.devices?.results?.map((each) =>
    each.consumedCapacity === undefined ? each : { ...each, shareID: random.uuid() },
  );
  return results === undefined ? result : { ...result, devices: { ...result.devices, results } };
}

/**
 * The claims of the pod; a rejection while one is not created from its template yet, is missing, or belongs to
 * another pod.
 */
function findClaims({ resourceClaim }: DynamicResourcesDeps, pod: Stored<Pod>): { claims: ResourceClaim[] } | Status {
  const claims: ResourceClaim[] = [];
  for (const { name, resourceClaimName } of pod.spec?.resourceClaims ?? []) {
    const made = claimStatusOf(pod, name);
    const claimName = resourceClaimName ?? made?.resourceClaimName;
    if (claimName === undefined) {
      // The status says that the template needed no claim.
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

function unusableReason(
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
