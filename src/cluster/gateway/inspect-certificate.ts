/** Checks certificates of secrets before a data plane gets them. What was checked is remembered: it is asked at every change. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { errorMessage } from '../../base/errors.ts';
import type { InspectCertificate } from '../../gateway/ingress/tls-certificates.ts';
import { namesIn } from '../../platform/node/sni.ts';

const REMEMBERED = 1000;

export function createInspectCertificate(): InspectCertificate {
  const known = new Map<string, readonly string[]>();
  return (certPem, keyPem) => {
    const id = `${certPem}\n${keyPem}`;
    const before = known.get(id);
    if (before !== undefined) return before;
    const names = inspect(certPem, keyPem);
    if (known.size >= REMEMBERED) known.delete(known.keys().next().value!);
    known.set(id, names);
    return names;
  };
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
