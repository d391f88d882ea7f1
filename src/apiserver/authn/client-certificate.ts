/**
 * Client certificates: the common name is the user, each organization a group, one attribute the uid. The TLS layer has verified the chain
 * against the cluster's client CA. Upstream: authentication/request/x509 with CommonNameUserConversion.
 */
import { unauthorized } from '../../api/status-error.ts';
import type { Authenticator } from './contract.ts';

/** The group of everyone who authenticated. */
export const AUTHENTICATED_GROUP = 'system:authenticated';

/** Authenticates by the verified peer certificate. */
export const clientCertificateAuthenticator: Authenticator = {
  authenticate(request) {
    const certificate = request.peerCertificate;
    if (certificate === undefined || certificate.commonName === '') return undefined;
    const { uids = [] } = certificate;
    // Its user is unknown: other credentials of the request are not tried.
    if (uids.length > 1 || uids[0] === '') throw unauthorized();
    return {
      name: certificate.commonName,
      uid: uids.length === 1 ? uids[0]! : undefined,
      groups: [...new Set([...certificate.organizations, AUTHENTICATED_GROUP])],
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${certificate.fingerprint256}`] },
    };
  },
};
