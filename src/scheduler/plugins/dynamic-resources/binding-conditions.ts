/**
 * Devices that are made ready for a node after they were allocated (a fabric attaches them): the pod is bound only once
 * their drivers say so in the claim's status. Upstream: isPodReadyForBinding and the wait in PreBind (gate
 * DRADeviceBindingConditions).
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceRequestAllocationResult,
  ResourceClaim,
} from '../../../api/gen/resource-v1.ts';
import { ResourceClaims } from '../../../api/gen/resources.ts';
import { parseTime } from '../../../api/time.ts';
import type { Client } from '../../../client/client.ts';
import type { Clock } from '../../../platform/clock.ts';

/** Upstream's default of the plugin's argument bindingTimeout. */
const BINDING_TIMEOUT_MS = 600_000;
/** Looking is free: the claims are in memory. */
const LOOK_MS = 250;

/** Where claims are looked at. */
export interface BindingDeps {
  readonly clock: Clock;
  readonly client: Client;
  readonly resourceClaim: (namespace: string, name: string) => ResourceClaim | undefined;
}

/** Whether any device of the allocation has to be made ready. */
export function hasBindingConditions(allocation: AllocationResult | undefined): boolean {
  return (allocation?.devices?.results ?? []).some(({ bindingConditions = [] }) => bindingConditions.length > 0);
}

/** Why a device will not become ready; `ready` when all are. */
export function bindingState({ status }: ResourceClaim): 'ready' | 'waiting' | { readonly failure: string } {
  const results = status?.allocation?.devices?.results;
  if (results === undefined) return 'waiting'; // What we have written is not to be seen yet.
  let isReady = true;
  for (const result of results) {
    const { bindingConditions = [], bindingFailureConditions = [] } = result;
    if (bindingConditions.length === 0) continue;
    const told = (status?.devices ?? []).find((device) => isOf(device, result));
    const isTrue = (type: string): boolean =>
      told?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
    const failed = bindingFailureConditions.find(isTrue);
    if (failed !== undefined) {
      const why = told?.conditions?.find(({ type }) => type === failed)?.message ?? '';
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

/** Waits until the claim's devices are ready; resolves to why they are not, or undefined. Rejects with the signal's reason. */
export async function untilDevicesReady(
  { clock, resourceClaim }: BindingDeps,
  { metadata, status }: ResourceClaim,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace = '', name = '', uid } = metadata;
  const begunMs = parseTime(status?.allocation?.allocationTimestamp ?? undefined);
  const deadlineMs = (Number.isNaN(begunMs) ? clock.nowMs() : begunMs) + BINDING_TIMEOUT_MS;
  for (;;) {
    const now = resourceClaim(namespace, name);
    if (now?.metadata.uid !== uid) return `resourceclaim "${name}" not found`;
    const state = bindingState(now!);
    if (state === 'ready') return undefined;
    if (state !== 'waiting') return `resourceclaim "${name}" cannot be bound: ${state.failure}`;
    if (clock.nowMs() >= deadlineMs)
      return `resourceclaim "${name}": devices were not ready for binding within ${BINDING_TIMEOUT_MS / 1000}s`;
    await clock.sleep(LOOK_MS, signal);
  }
}

/** Gives the devices back, so that others are tried; not while other pods use them. */
export async function deallocate(
  { client, resourceClaim }: BindingDeps,
  { metadata }: ResourceClaim,
  pod: Pod,
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
