import { PersistentVolumeClaims } from '../../api/gen/resources.ts';
import { ownedBy, type ExclusiveWrites } from '../exclusive-write.ts';

/** Claims that live and die with a pod. */
export const ephemeralVolumeWrites: ExclusiveWrites = {
  account: 'ephemeral-volume-controller',
  writes: [{ resource: PersistentVolumeClaims, creates: true, where: ownedBy('Pod') }],
};
