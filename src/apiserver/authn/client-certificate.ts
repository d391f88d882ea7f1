/**
 * Client certificates: the common name is the user, each organization a group, one attribute the uid. The TLS layer has verified the chain
 * against the cluster's client CA. Upstream: authentication/request/x509 with CommonNameUserConversion.
 */
import { unauthorized } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import type { PeerCertificate } from '../../platform/http.ts';
import type { Authenticator } from './contract.ts';

/** The group of everyone who authenticated. */
export const AUTHENTICATED_GROUP = 'system:authenticated';

/**
 * One principal object per certificate, so that results cached by principal are found at a connection's next request.
 */
const users = new WeakMap<PeerCertificate, Principal>();

/** Authenticates by the verified peer certificate. */
export const clientCertificateAuthenticator: Authenticator = {
  authenticate(request) {
    const certificate = request.peerCertificate;
    if (certificate === undefined || certificate.commonName === '') return undefined;
    let user = users.get(certificate);
    if (user === undefined) users.set(certificate, (user = userOf(certificate)));
    return user;
  },
};

/** Throws 401. */
function userOf({ commonName, organizations, uids = [], fingerprint256 }: PeerCertificate): Principal {
  // The user is undetermined: other credentials of the request are not tried.
  if (uids.length > 1 || uids[0] === '') throw unauthorized();
  return {
    name: commonName,
    uid: uids.length === 1 ? uids[0]! : undefined,
    groups: [...new Set([...organizations, AUTHENTICATED_GROUP])],
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint256}`] },
  };
}
