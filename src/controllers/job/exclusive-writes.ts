import { Jobs, Pods } from '../../api/gen/resources.ts';
import { ownedBy, type ExclusiveWrites } from '../exclusive-write.ts';

/** Its own status, and the objects it makes. */
export const jobWrites: ExclusiveWrites = {
  account: 'job-controller',
  writes: [
    { resource: Jobs, fields: [['status']] },
    { resource: Pods, creates: true, where: ownedBy('Job') },
  ],
};
