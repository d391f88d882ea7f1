import { ValidatingAdmissionPolicies } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

export const admissionPolicyStatusWrites: ExclusiveWrites = {
  account: 'validatingadmissionpolicy-status-controller',
  writes: [{ resource: ValidatingAdmissionPolicies, fields: [['status']] }],
};
