/**
 * The redirect URI of a sign-in: the origin that the browser names in the Host header, when it is one of the console's. Anybody
 * can send any Host header, and an issuer that takes redirect URIs by a pattern would send the code to the origin in it.
 */
import type { ApiRequest } from '../../../api/transport.ts';
import { SIGN_IN_CALLBACK } from '../../request-uri.ts';
import { ownOriginOf } from '../request-origin.ts';
import type { OidcSignIn } from './contract.ts';

/** Undefined when the request is not to an origin of the console. */
export function redirectUriOf(
  request: ApiRequest,
  { redirectOrigins, servingNames }: Pick<OidcSignIn, 'redirectOrigins' | 'servingNames'>,
): string | undefined {
  const origin = ownOriginOf(request);
  if (origin === undefined) return undefined;
  const name = new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1');
  const isOwn = redirectOrigins?.includes(origin) ?? servingNames().includes(name);
  return isOwn ? `${origin}${SIGN_IN_CALLBACK}` : undefined;
}
