import { Endpoints } from '../../api/gen/resources.ts';
import { labelled, type ExclusiveWrites } from '../exclusive-write.ts';

/** Whatever it has marked as its own. */
export const endpointsWrites: ExclusiveWrites = {
  account: 'endpoint-controller',
  writes: [
    {
      resource: Endpoints,
      creates: true,
      fields: [['subsets']],
      where: labelled('endpoints.kubernetes.io/managed-by', 'endpoint-controller'),
    },
  ],
};
