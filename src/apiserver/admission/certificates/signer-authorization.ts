/**
 * Whether a user may act for a signer, by the signer's name or by its whole domain. Upstream:
 * plugin/pkg/admission/certificates.
 */
import type { Principal } from '../../../api/transport.ts';
import type { Authorizer } from '../../authz/contract.ts';

/** Authorizes the verb (approve, sign, attest) on the signer. */
export async function mayUseSigner(
  authorizer: Authorizer,
  user: Principal,
  { verb, signer }: { verb: string; signer: string },
): Promise<boolean> {
  const domain = signer.slice(0, Math.max(0, signer.indexOf('/')));
  for (const name of [signer, `${domain}/*`]) {
    const { decision } = await authorizer.authorize({
      user,
      verb,
      isResourceRequest: true,
      apiGroup: 'certificates.k8s.io',
      apiVersion: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
      name,
      path: '',
    });
    if (decision === 'allow') return true;
  }
  return false;
}
