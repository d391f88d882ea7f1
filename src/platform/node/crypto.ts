/** Hashes by node:crypto; certificates and tokens by the WebCrypto of the runtime, which loads at its first use. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { CryptoPort } from '../crypto.ts';
import { nodeCiphers } from './ciphers.ts';

/** Makes the crypto port of this process. */
export function createNodeCrypto(): CryptoPort {
  return {
    sha256Hex: (data) => hash('sha256', data, 'hex'),
    timingSafeEqual: (a, b) => a.byteLength === b.byteLength && timingSafeEqual(a, b),
    ciphers: nodeCiphers,
    get webcrypto() {
      return globalThis.crypto;
    },
  };
}
