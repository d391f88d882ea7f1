/**
 * Signed tokens (JWS in compact form, RFC 7515 and 7519) through the cryptography port, so that simulations control
 * them: a library would use the global crypto. Upstream: go-jose as pkg/serviceaccount uses it.
 *
 * A token is accepted only with the algorithm of the key it is verified with, and without critical headers.
 */
import type { CryptoPort } from '../../platform/crypto.ts';

/** Algorithms of tokens: for RSA keys, and for EC keys of P-256, P-384 and P-521. */
export type TokenAlgorithm = 'RS256' | 'ES256' | 'ES384' | 'ES512';

type Subtle = CryptoPort['webcrypto']['subtle'];

/** A key as WebCrypto holds it. */
export type JwtKey = Parameters<Subtle['sign']>[1];

/** The registered claims, and any others. Times are seconds since the epoch. */
export interface JwtClaims {
  readonly iss?: string;
  readonly sub?: string;
  readonly aud?: string | readonly string[];
  readonly jti?: string;
  readonly nbf?: number;
  readonly exp?: number;
  readonly iat?: number;
  readonly [claim: string]: unknown;
}

interface JwtHeader {
  readonly alg?: unknown;
  readonly kid?: unknown;
  readonly crit?: unknown;
}

interface Algorithm {
  readonly key: { readonly name: string; readonly hash?: string; readonly namedCurve?: string };
  readonly signature: { readonly name: string; readonly hash?: string };
}

const ecdsa = (namedCurve: string, hash: string): Algorithm => ({
  key: { name: 'ECDSA', namedCurve },
  signature: { name: 'ECDSA', hash },
});

const ALGORITHMS: Readonly<Record<TokenAlgorithm, Algorithm>> = {
  RS256: { key: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, signature: { name: 'RSASSA-PKCS1-v1_5' } },
  ES256: ecdsa('P-256', 'SHA-256'),
  ES384: ecdsa('P-384', 'SHA-384'),
  ES512: ecdsa('P-521', 'SHA-512'),
};

function derOf(pem: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64'));
}

/** A private key in PKCS#8. Rejects when it is invalid or of another algorithm. */
export function importPrivateKey(subtle: Subtle, pem: string, algorithm: TokenAlgorithm): Promise<JwtKey> {
  return subtle.importKey('pkcs8', derOf(pem), ALGORITHMS[algorithm].key, false, ['sign']);
}

/** A public key in SPKI. Rejects when it is invalid or of another algorithm. */
export function importPublicKey(subtle: Subtle, pem: string, algorithm: TokenAlgorithm): Promise<JwtKey> {
  return subtle.importKey('spki', derOf(pem), ALGORITHMS[algorithm].key, true, ['verify']);
}

/** The public key as a JSON Web Key, public members only. */
export async function exportJwk(subtle: Subtle, key: JwtKey): Promise<object> {
  const { kty, crv, x, y, n, e } = await subtle.exportKey('jwk', key);
  return kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y };
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs claims; the header names algorithm and key. */
export async function signJwt(
  subtle: Subtle,
  key: { readonly sign: JwtKey; readonly algorithm: TokenAlgorithm; readonly id: string },
  claims: JwtClaims,
): Promise<string> {
  const input = `${encode({ alg: key.algorithm, kid: key.id })}.${encode(claims)}`;
  const { signature } = ALGORITHMS[key.algorithm];
  return `${input}.${Buffer.from(await subtle.sign(signature, key.sign, Buffer.from(input))).toString('base64url')}`;
}

/** The claims of a token, unverified; undefined when it is no JWT. */
export function decodeJwt(token: string): { readonly header: JwtHeader; readonly claims: JwtClaims } | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  const [header, claims] = parts.slice(0, 2).map(decodePart);
  return header === undefined || claims === undefined ? undefined : { header, claims };
}

function decodePart(part: string): Readonly<Record<string, unknown>> | undefined {
  if (!/^[\w-]+$/.test(part)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the token was signed with this key's private half, by the key's algorithm. */
export async function isSignedBy(
  subtle: Subtle,
  key: { readonly verify: JwtKey; readonly algorithm: TokenAlgorithm },
  token: string,
): Promise<boolean> {
  const header = decodeJwt(token)?.header;
  if (header === undefined || header.alg !== key.algorithm || header.crit !== undefined) return false;
  const end = token.lastIndexOf('.');
  const signature = token.slice(end + 1);
  if (!/^[\w-]+$/.test(signature)) return false;
  const { signature: how } = ALGORITHMS[key.algorithm];
  return subtle.verify(how, key.verify, Buffer.from(signature, 'base64url'), Buffer.from(token.slice(0, end)));
}

/** Checks the times in verified claims. A time that is not a number makes the token invalid. */
export function verifyTimes(
  { exp, nbf }: JwtClaims,
  { nowSeconds, leewaySeconds }: { readonly nowSeconds: number; readonly leewaySeconds: number },
): 'valid' | 'expired' | 'not yet' | 'malformed' {
  if ((exp !== undefined && typeof exp !== 'number') || (nbf !== undefined && typeof nbf !== 'number'))
    return 'malformed';
  if (nbf !== undefined && nbf > nowSeconds + leewaySeconds) return 'not yet';
  return exp !== undefined && exp <= nowSeconds - leewaySeconds ? 'expired' : 'valid';
}
