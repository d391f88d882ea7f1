/** Judges the token of a TokenReview by every kind the server takes. Upstream: token/union and authenticator/audagnostic. */
import type { Principal } from '../../api/transport.ts';
import type { TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import type { ServiceAccountTokens } from '../../apiserver/authn/service-account-tokens.ts';
import { userInfoOf } from '../../apiserver/authn/user-info.ts';
import type { AuthenticateToken } from '../../apiserver/registry/services.ts';

export interface ReviewDeps {
  readonly tokens: Pick<ServiceAccountTokens, 'audiences' | 'review' | 'authenticateToken'>;
  /** All kinds, `tokens` among them. */
  readonly kinds: readonly TokenAuthenticator[];
}

/**
 * Whose token it is, and which of the audiences asked for may take it; undefined when nobody knows it for any of them. No
 * audience asked means this server. Tokens of kinds that know no audiences are for this server alone. Rejects with the
 * reason when somebody refuses the token and nobody knows it.
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
  const principal = await askKinds(
    kinds.filter((kind) => kind !== tokens),
    token,
  );
  return principal && { user: userInfoOf(principal), audiences: own };
}

/** One kind that refuses the token, or cannot judge it, is no word about the others; its reason counts when none knows it. */
async function askKinds(kinds: readonly TokenAuthenticator[], token: string): Promise<Principal | undefined> {
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
