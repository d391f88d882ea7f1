/**
 * Checks the certificates in a PEM text of authorities: TLS libraries silently accept an empty or truncated text, and
 * may then trust the public authorities. Upstream: pem.Decode and cert.ParseCertsPEM. Differs: a truncated block is
 * an error here, where upstream skips it.
 */

const BEGIN = '-----BEGIN CERTIFICATE-----';
const BLOCK = /^([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/;

/** Each certificate's PEM block, in order. @throws Error when there is none, or one is truncated or not base64 */
export function certificateBlocks(pem: string): readonly string[] {
  const [, ...bodies] = pem.split(BEGIN);
  if (bodies.length === 0) throw new Error('data does not contain any valid RSA or ECDSA certificates');
  return bodies.map((body, at) => {
    const base64 = BLOCK.exec(body)?.[1]?.trim();
    if (base64 === undefined) throw new Error(`certificate ${at + 1} of ${bodies.length} is cut off or not PEM`);
    return `${BEGIN}\n${base64}\n-----END CERTIFICATE-----\n`;
  });
}
