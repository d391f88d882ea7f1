import { PersistentVolumes } from '../../api/gen/resources.ts';
import { LOCAL_PATH_PROVISIONER } from '../../component-helpers/local-path.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Volumes of its kind. */
export const localPathWrites: ExclusiveWrites = {
  account: 'local-path-provisioner',
  writes: [
    {
      resource: PersistentVolumes,
      creates: true,
      where: ({ metadata }) => metadata.annotations?.['pv.kubernetes.io/provisioned-by'] === LOCAL_PATH_PROVISIONER,
    },
  ],
};
