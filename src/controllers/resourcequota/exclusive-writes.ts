import { ResourceQuotas } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** The limits in force; what is used is also raised by admission. */
export const resourceQuotaWrites: ExclusiveWrites = {
  account: 'resourcequota-controller',
  writes: [{ resource: ResourceQuotas, fields: [['status', 'hard']] }],
};
