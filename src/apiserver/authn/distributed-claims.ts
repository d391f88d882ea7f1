/**
 * Groups that a token only refers to: `_claim_names` names the source, `_claim_sources` its address. Aggregated
 * claims (tokens within tokens) are not used for groups, as upstream. OpenID Connect Core 1.0, section 5.6.2;
 * upstream: plugin/pkg/authenticator/token/oidc, claimResolver.
 */
import type { JWTPayload } from 'jose';
import { isObject } from '../../api/codec/own-property.ts';
import { isHttps } from './issuer-http.ts';

export interface ClaimSource {
  readonly endpoint: string;
  readonly accessToken?: string;
}

/**
 * The claims with the groups of their source. `resolve` fetches the verified claims of a source. Rejects when there
 * are none.
 */
export async function withDistributed(
  claims: JWTPayload,
  claim: string | undefined,
  resolve: (source: ClaimSource) => Promise<JWTPayload>,
): Promise<JWTPayload> {
  if (claim === undefined || claims[claim] !== undefined) return claims;
  const { _claim_names: names, _claim_sources: sources } = claims;
  const name = isObject(names) ? names[claim] : undefined;
  if (typeof name !== 'string') return claims;
  const source = isObject(sources) && Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (!isObject(source))
    throw new Error(
      `verify distributed claims: id token _claim_names contained a source ${name} missing in _claims_sources`,
    );
  const { endpoint = '', access_token: accessToken } = source;
  if (endpoint === '') return claims;
  if (typeof endpoint !== 'string' || !isHttps(endpoint))
    throw new Error(`verify distributed claims: the endpoint of ${name} is not an https URL`);
  const jwtPayload = await resolve({
    endpoint,
    accessToken: typeof accessToken === 'string' ? accessToken : undefined,
  });
  if (jwtPayload[claim] === undefined)
    throw new Error(`verify distributed claims: could not find distributed claim ${claim} of ${name}`);
  return { ...claims, [claim]: jwtPayload[claim] };
}
