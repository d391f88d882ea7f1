import { Pods, ResourceClaims } from '../../api/gen/resources.ts';
import { ownedBy, type ExclusiveWrites } from '../exclusive-write.ts';

/** Claims that are made for a pod, and what the pod is told of them. */
export const resourceClaimWrites: ExclusiveWrites = {
  account: 'resource-claim-controller',
  writes: [
    { resource: ResourceClaims, creates: true, where: ownedBy('Pod') },
    { resource: Pods, fields: [['status', 'resourceClaimStatuses']] },
  ],
};
