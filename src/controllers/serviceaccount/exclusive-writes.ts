import { ServiceAccounts } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** The account every namespace has. */
export const serviceAccountWrites: ExclusiveWrites = {
  account: 'service-account-controller',
  writes: [{ resource: ServiceAccounts, creates: true, where: ({ metadata }) => metadata.name === 'default' }],
};
