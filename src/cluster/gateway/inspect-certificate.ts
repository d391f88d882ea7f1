/** Checks certificates of secrets before a data plane gets them. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { errorMessage } from '../../base/errors.ts';
import type { InspectCertificate } from '../../gateway/snapshot/secret-certificates.ts';
import { namesIn } from '../../platform/node/sni.ts';

export function createInspectCertificate(): InspectCertificate {
  return inspect;
}

function inspect(certPem: string, keyPem: string): readonly string[] {
  let isPair: boolean;
  try {
    isPair = new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem));
  } catch (error) {
    throw new Error(`tls.crt or tls.key cannot be read: ${errorMessage(error)}`, { cause: error });
  }
  if (!isPair) throw new Error('tls.key is not the key of tls.crt');
  return namesIn(certPem);
}
