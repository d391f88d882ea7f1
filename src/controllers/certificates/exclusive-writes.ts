import { CertificateSigningRequests } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Certificates. Approval is also people's. */
export const certificateSigningWrites: ExclusiveWrites = {
  account: 'certificate-controller',
  writes: [{ resource: CertificateSigningRequests, fields: [['status', 'certificate']] }],
};
