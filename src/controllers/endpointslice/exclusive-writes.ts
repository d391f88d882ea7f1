import { EndpointSlices } from '../../api/gen/resources.ts';
import { labelled, type ExclusiveWrites } from '../exclusive-write.ts';

/** Whatever it has marked as its own. */
export const endpointSliceWrites: ExclusiveWrites = {
  account: 'endpointslice-controller',
  writes: [
    {
      resource: EndpointSlices,
      creates: true,
      fields: [['endpoints'], ['ports']],
      where: labelled('endpointslice.kubernetes.io/managed-by', 'endpointslice-controller.k8s.io'),
    },
  ],
};
