/**
 * The text of a failed connection, in the words upstream's HTTP client has for it: users and their tools search for
 * them. What has no counterpart keeps its own text.
 */

const UNKNOWN_AUTHORITY = new Set([
  'CERT_SIGNATURE_FAILURE',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

const X509 = 'tls: failed to verify certificate: x509: ';

/** The text for an error of `Net.http`. `address`: host and port that were dialled. */
export function transportErrorText(error: unknown, address: string): string {
  const { code = '', message = String(error) } = (error ?? {}) as { code?: string; message?: string };
  if (UNKNOWN_AUTHORITY.has(code)) return `${X509}certificate signed by unknown authority`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `${X509}certificate has expired or is not yet valid`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `${X509}${message}`;
  if (code === 'ECONNREFUSED') return `dial tcp ${address}: connect: connection refused`;
  if (code === 'EHOSTUNREACH') return `dial tcp ${address}: connect: no route to host`;
  if (code === 'ENETUNREACH') return `dial tcp ${address}: connect: network is unreachable`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `dial tcp: lookup ${address.slice(0, address.lastIndexOf(':'))}: no such host`;
  if (code === 'ECONNRESET') return 'EOF';
  if (code === 'ETIMEDOUT') return 'context deadline exceeded';
  return message;
}
