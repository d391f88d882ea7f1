/**
 * Authenticates the token of a TokenReview by every kind that the server accepts. Upstream: token/union and
 * authenticator/audagnostic.
 */
import type { Principal } from '../../api/transport.ts';
import type { TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import type { ServiceAccountTokens } from '../../apiserver/authn/service-account-tokens.ts';
import { userInfoOf } from '../../apiserver/authn/user-info.ts';
import type { AuthenticateToken } from '../../apiserver/registry/services.ts';

export interface ReviewDeps {
  readonly tokens: Pick<ServiceAccountTokens, 'audiences' | 'review' | 'authenticateToken'>;
  /** All kinds, including `tokens`. */
  readonly kinds: readonly TokenAuthenticator[];
}

/**
 * The token's user, and the requested audiences it is valid for; undefined when no kind recognizes it for any of
 * them. Without requested audiences it must be valid for this server, as must tokens of kinds without audiences.
 * Rejects with the reason when a kind refuses the token and none recognizes it.
 */
export async function reviewToken(
  { tokens, kinds }: ReviewDeps,
  token: string,
  asked: readonly string[],
): ReturnType<AuthenticateToken> {
  const audiences = asked.length > 0 ? asked : tokens.audiences;
  const reviewed = await tokens.review(token, audiences);
  if (reviewed !== undefined) return { user: userInfoOf(reviewed.principal), audiences: reviewed.audiences };
  const own = audiences.filter((audience) => tokens.audiences.includes(audience));
  if (own.length === 0) return undefined;
  const principal = await requestKinds(
    kinds.filter((kind) => kind !== tokens),
    token,
  );
  return principal && { user: userInfoOf(principal), audiences: own };
}

/**
 * Asks one kind. Its refusal or failure does not affect the others; its reason is used when no kind recognizes the
 * token.
 */
async function requestKinds(kinds: readonly TokenAuthenticator[], token: string): Promise<Principal | undefined> {
  const reasons: unknown[] = [];
  for (const kind of kinds) {
    const principal = await kind.authenticateToken(token).catch((error: unknown) => {
      reasons.push(error);
    });
    if (principal !== undefined) return principal;
  }
  if (reasons.length > 0) throw reasons[0];
  return undefined;
}
