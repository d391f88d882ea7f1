/**
 * Client certificates: the common name is the user, each organization a group. The TLS layer has verified the chain
 * against the cluster's client CA. Upstream: authentication/request/x509 with CommonNameUserConversion.
 */
import type { Authenticator } from './contract.ts';

/** The group of everyone who authenticated. */
export const AUTHENTICATED_GROUP = 'system:authenticated';

/** Authenticates by the verified peer certificate. */
export const clientCertificateAuthenticator: Authenticator = {
  authenticate(request) {
    const certificate = request.peerCertificate;
    if (certificate === undefined || certificate.commonName === '') return undefined;
    return {
      name: certificate.commonName,
      groups: [...new Set([...certificate.organizations, AUTHENTICATED_GROUP])],
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${certificate.fingerprint256}`] },
    };
  },
};
