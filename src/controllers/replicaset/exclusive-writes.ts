import { Pods, ReplicaSets, ReplicationControllers } from '../../api/gen/resources.ts';
import { ownedBy, type ExclusiveWrites } from '../exclusive-write.ts';

/** Its own status, and the objects it makes. */
export const replicaSetWrites: ExclusiveWrites = {
  account: 'replicaset-controller',
  writes: [
    { resource: ReplicaSets, fields: [['status']] },
    { resource: Pods, creates: true, where: ownedBy('ReplicaSet') },
  ],
};

/** Its own status, and the objects it makes. */
export const replicationControllerWrites: ExclusiveWrites = {
  account: 'replication-controller',
  writes: [
    { resource: ReplicationControllers, fields: [['status']] },
    { resource: Pods, creates: true, where: ownedBy('ReplicationController') },
  ],
};
