/** A node may request kubelet certificates for itself only. Upstream: noderestriction.admitCSR. */
import type { CertificateSigningRequest } from '../../../api/gen/certificates-v1.ts';
import type { CryptoPort } from '../../../platform/crypto.ts';

const KUBELET_SIGNERS = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet'];

/** The reason why the node may not make the request. */
export async function certificateProblem(
  { spec }: CertificateSigningRequest,
  node: string,
  crypto: CryptoPort,
): Promise<string | undefined> {
  if (!KUBELET_SIGNERS.includes(spec.signerName)) return undefined;
  const { parseRequest } = await import('../../../component-helpers/pki/certificates.ts');
  try {
    const { commonName } = await parseRequest(crypto, Buffer.from(spec.request, 'base64').toString('utf8'));
    if (commonName === `system:node:${node}`) return undefined;
  } catch (error) {
    return `unable to parse csr: ${(error as Error).message}`;
  }
  return `can only create a node CSR with CN=system:node:${node}`;
}
