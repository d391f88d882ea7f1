import { ServiceCIDRs } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

export const serviceCidrsWrites: ExclusiveWrites = {
  account: 'service-cidrs-controller',
  writes: [{ resource: ServiceCIDRs, fields: [['status', 'conditions']] }],
};
