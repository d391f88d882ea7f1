/**
 * The allocation result of a claim from the devices that the search has assigned to it. Pure. Upstream: the end of
 * structured.Allocator.Allocate.
 */
import type { Node } from '../../../api/gen/core-v1.ts';
import type { AllocationResult, DeviceRequestAllocationResult } from '../../../api/gen/resource-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { configurationOf, type RequestAlternative, type WantedClaim } from './claim-requests.ts';
import { type Amounts } from '../../devices/consumed-capacity.ts';
import { selectorOf, type PoolDevice } from '../../devices/device-pools.ts';

export interface Assignment {
  readonly claim: WantedClaim;
  readonly alternative: RequestAlternative;
  readonly found: PoolDevice;
  /** The consumed capacity, where the device is shared. */
  readonly consumed?: Amounts;
}

export function isAdmins({ alternative }: Pick<Assignment, 'alternative'>): boolean {
  return alternative.subRequest.adminAccess === true;
}

/** Whether a share of the device is allocated instead of the whole. */
export function isShared(assigned: Pick<Assignment, 'alternative' | 'found'>): boolean {
  return assigned.found.device.allowMultipleAllocations === true && !isAdmins(assigned);
}

/** `assigned`: the claim's devices. */
export function resultOf(wanted: WantedClaim, assigned: readonly Assignment[], node: Stored<Node>): AllocationResult {
  const config = configurationOf(wanted.claim, [...new Set(assigned.map(({ alternative }) => alternative))]);
  const nodeSelector = assigned.some(({ found }) => found.device.bindsToNode === true)
    ? selectorOf([{ nodeName: node.metadata.name }])
    : selectorOf(assigned.map(({ found }) => found));
  return {
    devices: {
      results: assigned.map(({ alternative, found, consumed }) => ({
        request: alternative.name,
        driver: found.driver,
        pool: found.pool,
        device: found.device.name,
        ...(alternative.subRequest.adminAccess === true ? { adminAccess: true } : {}),
        ...(alternative.subRequest.tolerations === undefined
          ? {}
          : { tolerations: alternative.subRequest.tolerations }),
        ...(consumed === undefined ? {} : { consumedCapacity: { ...consumed } }),
        ...bindingConditionsOf(found),
      })),
      ...(config.length === 0 ? {} : { config }),
    },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  };
}

/** The conditions that must be true, and those that must not be, before pods that use the device are bound. */
function bindingConditionsOf({
  device: { bindingConditions = [], bindingFailureConditions = [] },
}: PoolDevice): Pick<DeviceRequestAllocationResult, 'bindingConditions' | 'bindingFailureConditions'> {
  if (bindingConditions.length === 0) return {};
  return {
    bindingConditions: [...bindingConditions],
    ...(bindingFailureConditions.length === 0 ? {} : { bindingFailureConditions: [...bindingFailureConditions] }),
  };
}
