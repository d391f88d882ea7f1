/** Events that may make a pod schedulable that waits for devices. Pure. Upstream: DynamicResources.EventsToRegister. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../../api/gen/resource-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { deepEqual } from '../../../base/equal.ts';
import { claimNamesOf, isExtendedClaimOf } from '../../../component-helpers/resource-claims.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';

const mayHelp = (pod: Stored<Pod>, old: unknown, now: unknown): boolean =>
  claimMayHelp(pod, old as ResourceClaim | undefined, now as ResourceClaim | undefined);

/** The events with their hints. Beyond upstream's: the deletion of a claim frees its devices. */
export const deviceEvents: NonNullable<SchedulerPlugin['events']> = [
  { event: 'node/add' },
  { event: 'node/update-label' },
  { event: 'node/update-allocatable' },
  { event: 'resource-claim/add', hint: mayHelp },
  { event: 'resource-claim/update', hint: mayHelp },
  { event: 'resource-claim/delete', hint: mayHelp },
  {
    event: 'pod/update',
    hint: (pod, old) =>
      !deepEqual((old as Stored<Pod> | undefined)?.status?.resourceClaimStatuses, pod.status?.resourceClaimStatuses),
  },
  { event: 'device-class/add' },
  { event: 'device-class/update' },
  { event: 'resource-slice/add' },
  { event: 'resource-slice/update' },
];

/**
 * Whether a claim's change may help: a status change of a claim of the pod, or devices that become free. An informer
 * reports a claim that was deleted and created again during a gap as changed; the uid tells them apart.
 */
function claimMayHelp(pod: Stored<Pod>, before: ResourceClaim | undefined, after: ResourceClaim | undefined): boolean {
  if (before?.status?.allocation !== undefined && after?.status?.allocation === undefined) return true;
  const changed = after ?? before;
  if (changed === undefined) return false;
  const { namespace, name = '' } = changed.metadata;
  const isNamed = namespace === pod.metadata.namespace && claimNamesOf(pod).includes(name);
  if (!isNamed && !isExtendedClaimOf(changed, pod)) return false;
  if (before === undefined || after === undefined || before.metadata.uid !== after.metadata.uid) return true;
  return !deepEqual(before.status, after.status);
}
