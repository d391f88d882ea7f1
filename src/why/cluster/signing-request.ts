/** Why a certificate signing request has no certificate. */
import { CertificateSigningRequests } from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

/** Signers of the controller manager. */
const BUILT_IN = 'kubernetes.io/';

export async function explainSigningRequest(
  request: CertificateSigningRequest,
  _evidence: Evidence,
): Promise<Diagnosis> {
  const { certificate = '' } = request.status ?? {};
  if (certificate !== '') return { state: 'Fine', summary: 'has its certificate', causes: [] };
  return { state: 'Trouble', summary: 'has no certificate', causes: [pendingCause(request)] };
}

function pendingCause(request: CertificateSigningRequest): Cause {
  const object = nameOfObject(CertificateSigningRequests, request);
  const { signerName } = request.spec;
  for (const type of ['Denied', 'Failed']) {
    const condition = conditionOf(request, type);
    if (condition?.status === 'True') return conditionCause(CertificateSigningRequests, request, condition);
  }
  if (conditionOf(request, 'Approved')?.status !== 'True')
    return cause({
      code: 'NotApproved',
      object,
      message: 'nobody has approved it',
      cure: { text: 'approve it, if it is known to be right', command: `kubectl certificate approve ${object.name}` },
    });
  const own = signerName.startsWith(BUILT_IN);
  return cause({
    code: 'NotSigned',
    object,
    message: `it is approved, and signer ${signerName} has not signed it`,
    cure: {
      text: own ? 'see whether the controller manager runs and has a signing key' : `run the signer ${signerName}`,
    },
  });
}
