/**
 * Encrypts single values with upstream's layouts, so that both read each other's: aescbc (IV, then the text), aesgcm
 * (nonce, text, tag; the store key is authenticated), secretbox (nonce, tag, text: NaCl's XSalsa20 with Poly1305,
 * which OpenSSL lacks). The name of the key is the prefix: `k8s:enc:aescbc:v1:key1:`. Upstream:
 * storage/value/encrypt.
 */
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { Ciphers } from '../../platform/ciphers.ts';
import type { Random } from '../../platform/random.ts';

/** The methods with a user's key. */
export type CipherName = 'aescbc' | 'aesgcm' | 'secretbox';

/** A method with a key. */
export interface Transformer {
  /** The prefix of its values; empty: unencrypted. */
  readonly prefix: string;
  /** The result has no prefix. */
  encrypt(value: Uint8Array, storeKey: Uint8Array): Uint8Array;
  /** The value has no prefix. Throws when it was not encrypted with this key. */
  decrypt(value: Uint8Array, storeKey: Uint8Array): Uint8Array;
}

/** The prefix of all encrypted values. */
const ENCRYPTED = 'k8s:enc:';

/** Stores values as they are. */
export const identityTransformer: Transformer = {
  prefix: '',
  encrypt: (value) => value,
  decrypt(value) {
    if (startsWith(value, ENCRYPTED)) throw new Error('identity transformer tried to read encrypted data');
    return value;
  },
};

export interface TransformerDeps {
  readonly ciphers: Ciphers;
  readonly random: Random;
}

/** Makes the transformer of one key. */
export function createTransformer(
  { ciphers, random }: TransformerDeps,
  { cipher, name, key }: { readonly cipher: CipherName; readonly name: string; readonly key: Uint8Array },
): Transformer {
  const prefix = `${ENCRYPTED}${cipher}:v1:${name}:`;
  if (cipher === 'aescbc')
    return {
      prefix,
      encrypt(value) {
        const iv = random.bytes(16);
        return Buffer.concat([iv, ciphers.encryptAesCbc(key, iv, value)]);
      },
      decrypt: (value) => ciphers.decryptAesCbc(key, value.subarray(0, 16), value.subarray(16)),
    };
  if (cipher === 'aesgcm')
    return {
      prefix,
      encrypt(value, additional) {
        const nonce = random.bytes(12);
        return Buffer.concat([nonce, ciphers.encryptAesGcm({ key, nonce, additional }, value)]);
      },
      decrypt: (value, additional) =>
        ciphers.decryptAesGcm({ key, nonce: value.subarray(0, 12), additional }, value.subarray(12)),
    };
  return {
    prefix,
    encrypt(value) {
      const nonce = random.bytes(24);
      return Buffer.concat([nonce, xsalsa20poly1305(key, nonce).encrypt(value)]);
    },
    decrypt(value) {
      try {
        return xsalsa20poly1305(key, value.subarray(0, 24)).decrypt(value.subarray(24));
      } catch (cause) {
        throw new Error('the key is wrong or the value was changed', { cause });
      }
    },
  };
}

/** Whether bytes begin with an ASCII text. */
export function startsWith(value: Uint8Array, text: string): boolean {
  if (value.length < text.length) return false;
  for (let at = 0; at < text.length; at++) if (value[at] !== text.charCodeAt(at)) return false;
  return true;
}
