import { EndpointSlices } from '../../api/gen/resources.ts';
import { labelled, type ExclusiveWrites } from '../exclusive-write.ts';

/** Whatever it has marked as its own. */
export const endpointSliceMirroringWrites: ExclusiveWrites = {
  account: 'endpointslicemirroring-controller',
  writes: [
    {
      resource: EndpointSlices,
      creates: true,
      fields: [['endpoints'], ['ports']],
      where: labelled('endpointslice.kubernetes.io/managed-by', 'endpointslicemirroring-controller.k8s.io'),
    },
  ],
};
