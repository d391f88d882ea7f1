/**
 * Sign-ins that have begun at the issuer. The server keeps nothing of them: the cookie of the browser has an id and an end, and
 * state, nonce and code verifier are derived from it by a key of this process. So nobody can use up memory, or end the sign-ins
 * of others, by beginning many. A restart ends them, as it ends sessions.
 */
import type { CryptoPort } from '../../../platform/crypto.ts';
import type { ConsolePorts } from '../contract.ts';
import type { SignInIssuer } from './contract.ts';

export const SIGN_IN_MS = 10 * 60_000;

const KEY_BYTES = 32;
const COOKIE = /^[\w-]{43}\.(\d{1,15})(?:\.([\w-]{43}))?$/;

/** The content of the cookie. */
export interface SignInCookie {
  readonly text: string;
  readonly expiresAtMs: number;
  /** The session that the browser had before. Its own cookie does not come with the issuer's redirect. */
  readonly sessionBefore: string | undefined;
}

/** What the values of a sign-in hold for: with another issuer, client or redirect URI they differ. */
export interface SignInPlace {
  readonly issuer: SignInIssuer;
  readonly redirectUri: string;
}

/** The parameters of the authorization request that only this server can compute. */
export interface SignInValues {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Undefined for any other text. */
export function parseSignInCookie(text: string): SignInCookie | undefined {
  const [, expiresAtMs, sessionBefore] = COOKIE.exec(text) ?? [];
  return expiresAtMs === undefined ? undefined : { text, expiresAtMs: Number(expiresAtMs), sessionBefore };
}

interface SecretDeps {
  readonly crypto: Pick<CryptoPort, 'webcrypto' | 'timingSafeEqual'>;
  readonly random: ConsolePorts['random'];
  readonly nowMs: () => number;
}

export class SignInSecrets {
  readonly #deps: SecretDeps;
  readonly #keyBytes: Uint8Array;
  #key: ReturnType<CryptoPort['webcrypto']['subtle']['importKey']> | undefined;

  constructor(deps: SecretDeps) {
    this.#deps = deps;
    this.#keyBytes = deps.random.bytes(KEY_BYTES);
  }

  /** The text of a new cookie. */
  begin(sessionBefore: string | undefined): string {
    const { random, nowMs } = this.#deps;
    const id = Buffer.from(random.bytes(32)).toString('base64url');
    const parts = [id, Math.floor(nowMs() + SIGN_IN_MS), sessionBefore];
    return parts.filter((part) => part !== undefined).join('.');
  }

  async valuesOf(cookie: string, { issuer: { issuerUrl, clientId }, redirectUri }: SignInPlace): Promise<SignInValues> {
    const derive = (label: string): Promise<string> => this.#hmac([label, cookie, redirectUri, issuerUrl, clientId]);
    const [state, nonce, verifier] = await Promise.all([derive('state'), derive('nonce'), derive('verifier')]);
    return { state, nonce, verifier };
  }

  /** The values of the sign-in that the cookie and the state of a callback belong to; undefined when there is none. */
  async valuesFor(
    { text, expiresAtMs }: SignInCookie,
    place: SignInPlace,
    states: readonly string[],
  ): Promise<SignInValues | undefined> {
    const { crypto, nowMs } = this.#deps;
    const [state, ...others] = states;
    if (state === undefined || others.length > 0 || expiresAtMs <= nowMs()) return undefined;
    const values = await this.valuesOf(text, place);
    return crypto.timingSafeEqual(Buffer.from(values.state), Buffer.from(state)) ? values : undefined;
  }

  async #hmac(parts: readonly string[]): Promise<string> {
    const { subtle } = this.#deps.crypto.webcrypto;
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    this.#key ??= subtle.importKey('raw', Buffer.from(this.#keyBytes), algorithm, false, ['sign']);
    const signature = await subtle.sign('HMAC', await this.#key, Buffer.from(JSON.stringify(parts)));
    return Buffer.from(signature).toString('base64url');
  }
}
