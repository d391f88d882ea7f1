import { CronJobs, Jobs } from '../../api/gen/resources.ts';
import { ownedBy, type ExclusiveWrites } from '../exclusive-write.ts';

/** Its own status, and the objects it makes. */
export const cronJobWrites: ExclusiveWrites = {
  account: 'cronjob-controller',
  writes: [
    { resource: CronJobs, fields: [['status']] },
    { resource: Jobs, creates: true, where: ownedBy('CronJob') },
  ],
};
