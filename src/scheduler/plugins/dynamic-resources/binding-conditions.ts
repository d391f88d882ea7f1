/**
 * Devices that are prepared for a node after their allocation, such as those that a fabric attaches: the pod is bound
 * only after their drivers have set the binding conditions in the claim's status. Upstream: isPodReadyForBinding and
 * the wait in PreBind (gate DRADeviceBindingConditions).
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceRequestAllocationResult,
  ResourceClaim,
} from '../../../api/gen/resource-v1.ts';
import { ResourceClaims } from '../../../api/gen/resources.ts';
import { notFound } from '../../../api/status-error.ts';
import { parseTime } from '../../../api/time.ts';
import type { Stored } from '../../../api/object.ts';
import type { Client } from '../../../client/client.ts';
import type { Clock } from '../../../platform/clock.ts';

/** A check costs little: the claims are in memory. */
const CHECK_PERIOD_MS = 250;

/** The listers of claims and pods. */
export interface BindingDeps {
  readonly clock: Clock;
  readonly client: Client;
  readonly resourceClaim: (namespace: string, name: string) => ResourceClaim | undefined;
  readonly pod: (namespace: string, name: string) => Pod | undefined;
}

/** A claim of the pod. */
export interface AwaitedClaim {
  /** The claim as the cycle read it. */
  readonly claim: ResourceClaim;
  /** Its resource versions before our allocation was written; the lister may still return them. */
  readonly before: ReadonlySet<string>;
  /** Drivers whose devices must become ready. */
  readonly drivers: readonly string[];
}

/** A claim with a device that will not become ready, and why. */
export interface BindingProblem {
  readonly claim: ResourceClaim;
  readonly why: string;
  readonly status: 'failure' | 'timeout';
}

/** Whether any device of the allocation has binding conditions. */
export function hasBindingConditions(allocation: AllocationResult | undefined): boolean {
  return driversToWaitFor(allocation).length > 0;
}

/** Drivers that have to prepare devices of the allocation. */
export function driversToWaitFor(allocation: AllocationResult | undefined): string[] {
  return (allocation?.devices?.results ?? [])
    .filter(({ bindingConditions = [] }) => bindingConditions.length > 0)
    .map(({ driver }) => driver);
}

/** `ready` when all devices are; otherwise whether to wait, or why one will not become ready. */
function bindingState({ status }: ResourceClaim): 'ready' | 'waiting' | { readonly failure: string } {
  const results = status?.allocation?.devices?.results;
  if (results === undefined) return { failure: 'its devices were given back' };
  let isReady = true;
  for (const result of results) {
    const { bindingConditions = [], bindingFailureConditions = [] } = result;
    if (bindingConditions.length === 0) continue;
    const reported = (status?.devices ?? []).find((device) => isOf(device, result));
    const isTrue = (type: string): boolean =>
      reported?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
    const failed = bindingFailureConditions.find(isTrue);
    if (failed !== undefined) {
      const why = reported?.conditions?.find(({ type }) => type === failed)?.message ?? '';
      return { failure: `device ${result.driver}/${result.pool}/${result.device}: ${failed}${why && `: ${why}`}` };
    }
    isReady &&= bindingConditions.every(isTrue);
  }
  return isReady ? 'ready' : 'waiting';
}

function isOf(status: AllocatedDeviceStatus, result: DeviceRequestAllocationResult): boolean {
  return (
    status.driver === result.driver &&
    status.pool === result.pool &&
    status.device === result.device &&
    status.shareID === result.shareID
  );
}

/**
 * Waits until the devices of all claims are ready; resolves to the first that fails, or undefined. Rejects with the
 * signal's reason, and with NotFound when the pod is deleted.
 */
export async function untilDevicesReady(
  deps: BindingDeps & { readonly bindingTimeoutMs: number },
  { pod, awaited }: { readonly pod: Stored<Pod>; readonly awaited: readonly AwaitedClaim[] },
  signal: AbortSignal,
): Promise<BindingProblem | undefined> {
  const { clock, bindingTimeoutMs } = deps;
  const limits = awaited.map((each) => ({ ...each, deadlineMs: begunMs(each.claim, clock) + bindingTimeoutMs }));
  for (;;) {
    if (isGone(deps, pod)) throw notFound({ group: '', resource: 'pods' }, pod.metadata.name);
    const states = limits.map((each) => ({ ...each, state: stateNow(deps, each) }));
    for (const { claim, state } of states)
      if (typeof state === 'object')
        return { claim, why: `resourceclaim "${claim.metadata.name}" ${state.failure}`, status: 'failure' };
    const waiting = states.filter(({ state }) => state === 'waiting');
    if (waiting.length === 0) return undefined;
    const late = waiting.find(({ deadlineMs }) => clock.nowMs() >= deadlineMs);
    if (late !== undefined) {
      const { claim } = late;
      const seconds = bindingTimeoutMs / 1000;
      const why = `resourceclaim "${claim.metadata.name}": devices were not ready for binding within ${seconds}s`;
      return { claim, why, status: 'timeout' };
    }
    await clock.sleep(CHECK_PERIOD_MS, signal);
  }
}

function begunMs({ status }: ResourceClaim, clock: Clock): number {
  const allocatedMs = parseTime(status?.allocation?.allocationTimestamp ?? undefined);
  return Number.isNaN(allocatedMs) ? clock.nowMs() : allocatedMs;
}

/** Whether the pod is being deleted; it is then not bound any more. */
function isGone({ pod: find }: BindingDeps, { metadata }: Stored<Pod>): boolean {
  const now = find(metadata.namespace, metadata.name)?.metadata;
  return now?.uid !== metadata.uid || now?.deletionTimestamp !== undefined;
}

function stateNow({ resourceClaim }: BindingDeps, { claim, before }: AwaitedClaim): ReturnType<typeof bindingState> {
  const { namespace = '', name = '', uid } = claim.metadata;
  const now = resourceClaim(namespace, name);
  if (now === undefined || now.metadata.uid !== uid) return { failure: 'not found' };
  if (before.has(now.metadata.resourceVersion ?? '')) return 'waiting'; // our own write is not visible yet
  const state = bindingState(now);
  return typeof state === 'object' ? { failure: `cannot be bound: ${state.failure}` } : state;
}

/** Clears the claim's allocation, so that other devices are tried; not while other pods use it. */
export async function deallocate(
  { client, resourceClaim }: BindingDeps,
  { metadata }: ResourceClaim,
  pod: Stored<Pod>,
): Promise<void> {
  const { namespace = '', name = '', uid } = metadata;
  const now = resourceClaim(namespace, name);
  if (now?.metadata.uid !== uid || now?.status?.allocation === undefined) return;
  if ((now.status.reservedFor ?? []).some((consumer) => consumer.uid !== pod.metadata.uid)) return;
  const patch = {
    metadata: { uid, resourceVersion: now.metadata.resourceVersion },
    status: { allocation: null, reservedFor: null, devices: null },
  };
  await client.resource(ResourceClaims).patch({ namespace, name }, { type: 'merge', patch }, { subresource: 'status' });
}
