/**
 * OIDC discovery of the service account issuer: others that trust these tokens read the keys here. Upstream:
 * routes/openidmetadata.go.
 */
import type { ServiceAccountTokens } from '../../apiserver/authn/service-account-tokens.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';

/** `/.well-known/openid-configuration` and `/openid/v1/jwks`. */
export function tokenRoutes(
  tokens: ServiceAccountTokens,
  { issuer, jwksUri }: { readonly issuer: string; readonly jwksUri: string },
): readonly NonResourceRoute[] {
  const configuration = async (): Promise<object> => {
    const algorithms = (await tokens.keySet()).keys.map(({ alg }) => alg);
    return {
      issuer,
      jwks_uri: jwksUri,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...new Set(algorithms)].sort(),
    };
  };
  return [
    { path: '/.well-known/openid-configuration', serve: async () => json(await configuration(), 'application/json') },
    { path: '/openid/v1/jwks', serve: async () => json(await tokens.keySet(), 'application/jwk-set+json') },
  ] as readonly NonResourceRoute[];
}

function json(value: object, type: string): object {
  return {
    kind: 'bytes',
    status: 200,
    headers: { 'content-type': type, 'cache-control': 'public, max-age=3600' },
    chunks: [Buffer.from(JSON.stringify(value))],
  };
}
