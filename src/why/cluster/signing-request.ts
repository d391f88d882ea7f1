/** Why a certificate signing request has no certificate. */
import { CertificateSigningRequests } from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

/** Who approves requests for the signers of the controller manager. Upstream: csrapproving, docs of certificate signing requests. */
const APPROVERS: Readonly<Record<string, string>> = {
  'kubernetes.io/kube-apiserver-client': 'no controller approves for this signer: an administrator does',
  'kubernetes.io/kube-apiserver-client-kubelet':
    "the controller approves for who may create certificatesigningrequests/nodeclient or selfnodeclient, if subject and usages are a kubelet's",
  'kubernetes.io/kubelet-serving':
    'no controller approves for this signer: an administrator, or an approver that is installed, does',
  'kubernetes.io/legacy-unknown': 'no controller approves for this signer: an administrator does',
};

/** Conditions that end a request, and what helps. */
const ENDS = [
  ['Denied', 'make another request that meets what the message asks for: a denied one stays denied'],
  ['Failed', 'make another request that meets what the message asks for: the signer does not try again'],
] as const;

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
  for (const [type, cure] of ENDS) {
    const condition = conditionOf(request, type);
    if (condition?.status === 'True')
      return { ...conditionCause(CertificateSigningRequests, request, condition), cure: { text: cure } };
  }
  if (conditionOf(request, 'Approved')?.status !== 'True') {
    const approver = APPROVERS[signerName] ?? `who runs the signer ${signerName} says who approves for it`;
    return cause({
      code: 'NotApproved',
      object,
      message: `nobody has approved it for signer ${signerName}`,
      facts: [approver, `asked for by ${request.spec.username ?? ''}`],
      cure: { text: 'approve it, if it is known to be right', command: `kubectl certificate approve ${object.name}` },
    });
  }
  const isOwn = Object.hasOwn(APPROVERS, signerName);
  return cause({
    code: 'NotSigned',
    object,
    message: `it is approved, and signer ${signerName} has not signed it`,
    cure: {
      text: isOwn ? 'see whether the controller manager runs and has a signing key' : `run the signer ${signerName}`,
    },
  });
}
