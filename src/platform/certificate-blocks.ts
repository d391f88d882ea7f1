/**
 * Certificates in a PEM text, before anybody trusts them: TLS libraries take an empty or cut off text of authorities
 * without a word, and may then trust the world's public ones. Upstream: pem.Decode and cert.ParseCertsPEM, stricter: a
 * block that is cut off is no certificate here, where upstream leaves it out.
 */

const BEGIN = '-----BEGIN CERTIFICATE-----';
const BLOCK = /^([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/;

/** Each certificate's PEM block, in order. @throws Error when there is none, or one is cut off or not base64 */
export function certificateBlocks(pem: string): readonly string[] {
  const [, ...bodies] = pem.split(BEGIN);
  if (bodies.length === 0) throw new Error('data does not contain any valid RSA or ECDSA certificates');
  return bodies.map((body, at) => {
    const base64 = BLOCK.exec(body)?.[1]?.trim();
    if (base64 === undefined) throw new Error(`certificate ${at + 1} of ${bodies.length} is cut off or not PEM`);
    return `${BEGIN}\n${base64}\n-----END CERTIFICATE-----\n`;
  });
}
