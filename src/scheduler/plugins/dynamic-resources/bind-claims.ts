/**
 * Writes allocations and reservedFor into claims before the pod is bound, and waits for their devices. Upstream:
 * PreBind, bindClaim.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { AllocationResult, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { ResourceClaims } from '../../../api/gen/resources.ts';
import type { Stored } from '../../../api/object.ts';
import { formatTime } from '../../../api/time.ts';
import { CLAIM_FINALIZER } from '../../../component-helpers/resource-claims.ts';
import type { DynamicResourcesArgs } from '../../config/plugin-args.ts';
import { type Status, unschedulable } from '../../framework/status.ts';
import {
  type AwaitedClaim,
  deallocate,
  driversToWaitFor,
  hasBindingConditions,
  untilDevicesReady,
} from './binding-conditions.ts';
import { type CycleClaims, type Decision, type DynamicResourcesDeps, type InFlight, NAME } from './cycle-claims.ts';
import { writeExtendedClaim, writeMappings } from './extended-claim.ts';

/** A pod that is about to be bound, with the claims of its cycle. */
interface Binding {
  readonly cycle: CycleClaims;
  readonly pod: Stored<Pod>;
  readonly nodeName: string;
  readonly inFlight: InFlight;
}

/** Writes the cycle's allocations, and waits until the devices are ready. */
export async function bindClaims(
  deps: DynamicResourcesDeps & Pick<DynamicResourcesArgs, 'bindingTimeoutMs'>,
  binding: Binding,
  signal: AbortSignal,
): Promise<Status | undefined> {
  const { cycle, pod, nodeName, inFlight } = binding;
  const { claims, taken } = cycle;
  const want = cycle.found.get(nodeName)?.extended;
  const extended = await makeExtendedClaim(deps, binding, signal);
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
  return waitForDevices(deps, { awaited, pod, taken, inFlight }, signal);
}

/**
 * Creates the claim for the pod's extended resources, if the node provides them by devices, and moves the allocation
 * from the in-memory claim to it.
 */
async function makeExtendedClaim(
  deps: DynamicResourcesDeps,
  binding: Binding,
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

/**
 * Waits until the drivers report the devices as ready. When one fails, the claims are deallocated and the pod is
 * scheduled again.
 */
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

/**
 * Writes allocation and reservedFor. A claim that has changed meanwhile is a conflict, and the pod is scheduled
 * again. Resolves to the resource versions of the claim before its allocation.
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
