/** The options of one OpenID Connect issuer. Upstream: OIDCAuthenticationOptions. */
/** OpenID Connect. */

import { type FlagValues, textOf, OptionsError, listOf } from './flags.ts';

export interface OidcOptions {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly usernameClaim: string;
  readonly usernamePrefix: string;
  readonly groupsClaim?: string;
  readonly groupsPrefix: string;
  readonly requiredClaims: Readonly<Record<string, string>>;
  readonly signingAlgorithms: readonly string[];
  readonly caFile?: string;
}

export const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];
export function parseOidc(values: FlagValues): OidcOptions | undefined {
  const issuerUrl = textOf(values, 'oidc-issuer-url');
  const clientId = textOf(values, 'oidc-client-id');
  if (issuerUrl === undefined && clientId === undefined) return undefined;
  if (issuerUrl === undefined || clientId === undefined)
    throw new OptionsError(
      '--oidc-issuer-url: oidc-issuer-url and oidc-client-id must be specified together when any oidc flags are set',
    );
  if (!URL.canParse(issuerUrl) || new URL(issuerUrl).protocol !== 'https:')
    throw new OptionsError(`--oidc-issuer-url: ${issuerUrl} is not an https URL`);
  const signingAlgorithms = listOf(values, 'oidc-signing-algs') ?? ['RS256'];
  const unknown = signingAlgorithms.find((one) => !ALGORITHMS.includes(one));
  if (unknown !== undefined)
    throw new OptionsError(`--oidc-signing-algs: ${unknown} is none of ${ALGORITHMS.join(', ')}`);
  const usernameClaim = textOf(values, 'oidc-username-claim') ?? 'sub';
  const groupsClaim = textOf(values, 'oidc-groups-claim');
  const caFile = textOf(values, 'oidc-ca-file');
  return {
    issuerUrl,
    clientId,
    usernameClaim,
    usernamePrefix: usernamePrefix(textOf(values, 'oidc-username-prefix'), usernameClaim, issuerUrl),
    groupsClaim,
    groupsPrefix: textOf(values, 'oidc-groups-prefix') ?? '',
    requiredClaims: Object.fromEntries((listOf(values, 'oidc-required-claim') ?? []).map(claim)),
    signingAlgorithms,
    caFile,
  };
}

/** By default the issuer is part of the user name, so that names of different issuers cannot be confused. */
function usernamePrefix(configured: string | undefined, usernameClaim: string, issuerUrl: string): string {
  if (configured === '-') return '';
  if (configured !== undefined) return configured;
  return usernameClaim === 'email' ? '' : `${issuerUrl}#`;
}

function claim(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new OptionsError(`--oidc-required-claim: ${text} is not of the form key=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}
