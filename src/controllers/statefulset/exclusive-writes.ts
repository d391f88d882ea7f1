import { ControllerRevisions, Pods, StatefulSets } from '../../api/gen/resources.ts';
import { ownedBy, type ExclusiveWrites } from '../exclusive-write.ts';

/** Its own status, and the objects it makes. */
export const statefulSetWrites: ExclusiveWrites = {
  account: 'statefulset-controller',
  writes: [
    { resource: StatefulSets, fields: [['status']] },
    { resource: ControllerRevisions, creates: true, where: ownedBy('StatefulSet') },
    { resource: Pods, creates: true, where: ownedBy('StatefulSet') },
  ],
};
