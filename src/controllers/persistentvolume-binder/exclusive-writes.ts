import { PersistentVolumeClaims, PersistentVolumes } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Which claim has which volume. */
export const persistentVolumeBinderWrites: ExclusiveWrites = {
  account: 'persistent-volume-binder',
  writes: [
    { resource: PersistentVolumes, fields: [['status', 'phase']] },
    {
      resource: PersistentVolumeClaims,
      fields: [
        ['status', 'phase'],
        ['status', 'accessModes'],
        ['spec', 'volumeName'],
      ],
    },
  ],
};
