/** Signs tokens for secrets with a key from a file, RSA or EC, in any of the forms such files have. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { legacyClaims } from '../../apiserver/authn/legacy-token.ts';
import type { TokenAlgorithm } from '../../apiserver/authn/jwt.ts';
import type { ControllersConfig } from '../../controllers/controller.ts';

const CURVES: Readonly<Record<string, TokenAlgorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** Makes the signer. Throws when the text holds no private key of a kind that tokens are signed with. */
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

/** What tokens are signed with by such a key, private or public. Throws for kinds that sign none. */
export function tokenAlgorithmOf(key: KeyObject): TokenAlgorithm {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  const alg = key.asymmetricKeyType === 'ec' ? CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''] : undefined;
  if (alg === undefined) throw new Error('tokens are signed with RSA keys or EC keys of P-256, P-384 or P-521');
  return alg;
}
