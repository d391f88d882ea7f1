/** Checks certificates of secrets before a data plane gets them. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorMessage } from '../../base/errors.ts';
import type { InspectCertificate } from '../../gateway/snapshot/secret-certificates.ts';
import { namesIn } from '../../platform/node/sni.ts';

/** A handshake with 16,384 bits takes the data plane a quarter of a second, with 4096 some five milliseconds. */
const MAX_BITS = 4096;

export function createInspectCertificate(): InspectCertificate {
  return inspect;
}

function inspect(certPem: string, keyPem: string): readonly string[] {
  let isPair: boolean;
  let bits: number;
  try {
    const [certificate, key] = [new X509Certificate(certPem), createPrivateKey(keyPem)];
    bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
    isPair = certificate.checkPrivateKey(key);
  } catch (error) {
    throw new Error(`tls.crt or tls.key cannot be read: ${errorMessage(error)}`, { cause: error });
  }
  if (bits > MAX_BITS) throw new Error(`tls.key has ${bits} bits, more than ${MAX_BITS}`);
  if (!isPair) throw new Error('tls.key is not the key of tls.crt');
  try {
    createSecureContext({ cert: certPem, key: keyPem });
  } catch (error) {
    throw new Error(`tls.crt and tls.key cannot be served: ${errorMessage(error)}`, { cause: error });
  }
  return namesIn(certPem);
}
