/**
 * Events that may make a pod schedulable that waits for volumes. Pure. Upstream: VolumeBinding.EventsToRegister;
 * without CSINode, which matters only to migrated volumes.
 */
import type { Stored } from '../../../api/object.ts';
import type { PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import type { CSIDriver, CSIStorageCapacity, StorageClass } from '../../../api/gen/storage-v1.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { deepEqual } from '../../../base/equal.ts';
import { claimsOf, isOwnClaim, type FindClaim } from '../../framework/pod-claims.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';

type Events = NonNullable<SchedulerPlugin['events']>;

/**
 * The events with their hints. A new claim does not help a pod that lacks another one: claims of ephemeral volumes
 * appear one by one, and each attempt writes the pod's status. Differs: upstream retries at each.
 */
export function volumeEvents(find: FindClaim): Events {
  const isLast: Events[number]['hint'] = (pod, _old, now) =>
    isOwnClaim(pod, now) &&
    claimsOf(pod).every(
      ({ name }) =>
        name === (now as Stored<PersistentVolumeClaim>).metadata.name ||
        find(pod.metadata.namespace, name) !== undefined,
    );
  return [{ event: 'persistent-volume-claim/add', hint: isLast }, ...otherEvents];
}

const otherEvents: Events = [
  { event: 'persistent-volume-claim/update', hint: (pod, _old, now) => isOwnClaim(pod, now) },
  { event: 'persistent-volume/add' },
  { event: 'persistent-volume/update' },
  { event: 'storage-class/add' },
  {
    event: 'storage-class/update',
    hint: (_pod, old, now) =>
      !deepEqual((old as StorageClass).allowedTopologies, (now as StorageClass).allowedTopologies),
  },
  {
    event: 'csi-driver/update',
    hint: (_pod, old, now) => checksCapacity(old as CSIDriver) && !checksCapacity(now as CSIDriver),
  },
  { event: 'csi-storage-capacity/add' },
  {
    event: 'csi-storage-capacity/update',
    hint: (_pod, old, now) => hasGrown(old as CSIStorageCapacity, now as CSIStorageCapacity),
  },
  { event: 'node/add' },
  { event: 'node/update-label' },
];

function checksCapacity({ spec }: CSIDriver): boolean {
  return spec.storageCapacity === true;
}

function hasGrown(old: CSIStorageCapacity, now: CSIStorageCapacity): boolean {
  const isMore = (after: string | undefined, before: string | undefined): boolean =>
    compareQuantities(after ?? '0', before ?? '0') > 0;
  return isMore(now.capacity, old.capacity) || isMore(now.maximumVolumeSize, old.maximumVolumeSize);
}
