/**
 * CertificateSubjectRestriction: no client certificate makes anyone a member of system:masters or of the group of
 * server tokens. Upstream: plugin/pkg/admission/certificates/subjectrestriction, which knows only the first.
 */
import type { CertificateSigningRequest } from '../../../api/gen/certificates-v1.ts';
import type { CryptoPort } from '../../../platform/crypto.ts';
import { SERVER_GROUP } from '../../bootstrap/server-join.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { isOn, refusal } from '../refusal.ts';

const REFUSED_GROUPS = ['system:masters', SERVER_GROUP];
const SIGNER = 'kubernetes.io/kube-apiserver-client';

/** The certificate library parses the request; it is loaded for this signer only. */
export function createCertificateSubjectRestriction(crypto: CryptoPort): AdmissionPlugin {
  return {
    name: 'CertificateSubjectRestriction',
    handles: (operation, resource, subresource) =>
      operation === 'CREATE' &&
      isOn(resource, subresource, { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' }),
    async validate(attributes) {
      const { spec } = attributes.object as CertificateSigningRequest;
      if (spec.signerName !== SIGNER) return;
      const { parseRequest } = await import('../../../component-helpers/pki/certificates.ts');
      const pem = Buffer.from(spec.request, 'base64').toString('utf8');
      const { organizations } = await parseRequest(crypto, pem).catch((error: Error) => {
        throw refusal(attributes, `failed to parse CSR: ${error.message}`);
      });
      const refused = REFUSED_GROUPS.find((group) => organizations.includes(group));
      if (refused !== undefined)
        throw refusal(attributes, `use of ${SIGNER} signer with ${refused} group is not allowed`);
    },
  };
}
