import { Namespaces } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Why a namespace is not gone yet. */
export const namespaceWrites: ExclusiveWrites = {
  account: 'namespace-controller',
  writes: [{ resource: Namespaces, fields: [['status', 'conditions']] }],
};
