import { ControllerRevisions, DaemonSets, Pods } from '../../api/gen/resources.ts';
import { ownedBy, type ExclusiveWrites } from '../exclusive-write.ts';

/** Its own status, and the objects it makes. */
export const daemonSetWrites: ExclusiveWrites = {
  account: 'daemon-set-controller',
  writes: [
    { resource: DaemonSets, fields: [['status']] },
    { resource: ControllerRevisions, creates: true, where: ownedBy('DaemonSet') },
    { resource: Pods, creates: true, where: ownedBy('DaemonSet') },
  ],
};
