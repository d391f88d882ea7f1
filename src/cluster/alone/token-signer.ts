/** Signs tokens for token secrets with a key from a file, RSA or EC, in any of the usual PEM formats. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { legacyClaims } from '../../apiserver/authn/legacy-token.ts';
import type { TokenAlgorithm } from '../../apiserver/authn/jwt.ts';
import type { ControllersConfig } from '../../controllers/controller.ts';

const CURVES: Readonly<Record<string, TokenAlgorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** Throws when the text has no private key of a supported kind. */
export function createTokenSigner(privateKeyPem: string): NonNullable<ControllersConfig['signServiceAccountToken']> {
  const key = createPrivateKey(privateKeyPem);
  const alg = tokenAlgorithmOf(key);
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const kid = createHash('sha256').update(spki).digest('base64url');
  return async (account, secret) => {
    const { SignJWT } = await import('jose');
    return await new SignJWT(legacyClaims(account, secret)).setProtectedHeader({ alg, kid }).sign(key);
  };
}

/** The signature algorithm of such a key, private or public. Throws for kinds of keys that cannot sign tokens. */
export function tokenAlgorithmOf(key: KeyObject): TokenAlgorithm {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  const alg = key.asymmetricKeyType === 'ec' ? CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''] : undefined;
  if (alg === undefined) throw new Error('tokens are signed with RSA keys or EC keys of P-256, P-384 or P-521');
  return alg;
}
