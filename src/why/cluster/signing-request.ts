/** Explains why a certificate signing request has no certificate, or one that cannot be used. */
import { CertificateSigningRequests } from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import { formatTime } from '../../api/time.ts';
import { readIssuer } from '../../component-helpers/pki/read-certificate.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

/** The approvers of the controller manager's signers. Upstream: csrapproving, docs of certificate signing requests. */
const APPROVERS: Readonly<Record<string, string>> = {
  'kubernetes.io/kube-apiserver-client': 'no controller approves for this signer: an administrator does',
  'kubernetes.io/kube-apiserver-client-kubelet':
    "the controller approves for who may create certificatesigningrequests/nodeclient or selfnodeclient, if subject and usages are a kubelet's",
  'kubernetes.io/kubelet-serving':
    'no controller approves for this signer: an administrator, or an approver that is installed, does',
  'kubernetes.io/legacy-unknown': 'no controller approves for this signer: an administrator does',
};

/** Conditions that are final for a request, with their cures. */
const ENDS = [
  ['Denied', 'make another request that meets what the message asks for: a denied one stays denied'],
  ['Failed', 'make another request that meets what the message asks for: the signer does not try again'],
] as const;

export async function explainSigningRequest(
  request: CertificateSigningRequest,
  { nowMs }: Evidence,
): Promise<Diagnosis> {
  const { certificate = '' } = request.status ?? {};
  if (certificate !== '') return issued(request, certificate, nowMs);
  return { state: 'Trouble', summary: 'has no certificate', causes: [pendingCause(request)] };
}

function issued(request: CertificateSigningRequest, certificate: string, nowMs: number): Diagnosis {
  const object = nameOfObject(CertificateSigningRequests, request);
  const endMs = endOf(certificate);
  if (endMs === undefined) return { state: 'Unknown', summary: 'has a certificate that cannot be read', causes: [] };
  const end = formatTime(endMs);
  if (endMs >= nowMs)
    return { state: 'Fine', summary: `has its certificate, valid until ${end}`, causes: useNotes(request) };
  const expired = cause({
    code: 'CertificateExpired',
    object,
    message: `its certificate was valid until ${end}: nobody accepts it any more`,
    since: end,
    cure: { text: 'make another request; spec.expirationSeconds asks for a longer time, which the signer may shorten' },
  });
  return { state: 'Trouble', summary: 'has a certificate that has expired', causes: [expired] };
}

/** The expiry time in milliseconds; undefined when the text is no certificate in PEM. */
function endOf(certificate: string): number | undefined {
  try {
    return readIssuer(Buffer.from(certificate, 'base64').toString('latin1')).notAfterMs;
  } catch {
    return undefined;
  }
}

/** Reports a certificate that the API server does not accept from clients. */
function useNotes(request: CertificateSigningRequest): readonly Cause[] {
  const { signerName } = request.spec;
  if (signerName.startsWith('kubernetes.io/kube-apiserver-client')) return [];
  const message =
    signerName === 'kubernetes.io/kubelet-serving'
      ? 'it is for a kubelet to serve with: the API server does not accept it of a client'
      : `the API server accepts it of a client only if the authority of signer ${signerName} is in its --client-ca-file`;
  return [
    cause({
      code: 'NotForClients',
      object: nameOfObject(CertificateSigningRequests, request),
      message,
      cure: { text: 'for a client of the API server, ask the signer kubernetes.io/kube-apiserver-client' },
    }),
  ];
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
