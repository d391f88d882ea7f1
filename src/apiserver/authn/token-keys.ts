/** The keys of service-account tokens, loaded when first needed. The first key signs; all keys verify. */
import { importPrivateKey, importPublicKey, type JwtKey, type TokenAlgorithm } from './jwt.ts';
import type { CryptoPort } from '../../platform/crypto.ts';

/** A key of the token signer, as PEM. */
export interface TokenKey {
  /** PKCS#8 private key; absent for keys that only verify. */
  readonly privateKeyPem?: string;
  /** SPKI public key. */
  readonly publicKeyPem: string;
  /** The algorithm that it signs by; default ES256. */
  readonly algorithm?: TokenAlgorithm;
}

export type LoadedKey = {
  readonly id: string;
  readonly algorithm: TokenAlgorithm;
  readonly verify: JwtKey;
  readonly sign: JwtKey | undefined;
};

/** Imported keys, which the servers of this process that have the same key share (forks of a simulated cluster). */
const imported = new WeakMap<TokenKey, LoadedKey>();

export function lazyKeys(crypto: CryptoPort, keys: readonly TokenKey[]): () => Promise<readonly LoadedKey[]> {
  let loading: Promise<readonly LoadedKey[]> | undefined;
  const { sha256Hex, webcrypto } = crypto;
  const loadKey = async (key: TokenKey): Promise<LoadedKey> => {
    const cached = imported.get(key);
    if (cached !== undefined) return cached;
    const { publicKeyPem, privateKeyPem, algorithm = 'ES256' } = key;
    const loaded = {
      id: sha256Hex(publicKeyPem.trim()).slice(0, 32),
      algorithm,
      verify: await importPublicKey(webcrypto.subtle, publicKeyPem, algorithm),
      sign:
        privateKeyPem === undefined ? undefined : await importPrivateKey(webcrypto.subtle, privateKeyPem, algorithm),
    };
    imported.set(key, loaded);
    return loaded;
  };
  const load = (): Promise<readonly LoadedKey[]> => Promise.all(keys.map(loadKey));
  return () => (loading ??= load());
}

export async function signingKey(
  keys: () => Promise<readonly LoadedKey[]>,
): Promise<LoadedKey & { readonly sign: JwtKey }> {
  for (const key of await keys()) if (key.sign !== undefined) return { ...key, sign: key.sign };
  throw new Error('no private key to sign service-account tokens with');
}
