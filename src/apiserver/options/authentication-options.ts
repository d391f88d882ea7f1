/**
 * Authentication flags: which authenticators are enabled, and their settings. Upstream:
 * kubeapiserver/options/authentication.go.
 */
import { AUTHENTICATION_FLAGS } from './authentication-flags.ts';
import { booleanOf, choiceOf, durationMsOf, type FlagValues, listOf, OptionsError, textOf } from './flags.ts';
import type { OidcOptions } from './oidc-options.ts';
import { parseOidc } from './oidc-options.ts';

/** Front proxies. Header names are lower case. */
export interface RequestHeaderOptions {
  readonly clientCaFile: string;
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

/** The client as which users of the console sign in at an OpenID Connect issuer. */
export interface ConsoleSignInOptions {
  readonly clientId: string;
  readonly clientSecretFile?: string | undefined;
  /** The console's origins. Absent: names and addresses of the serving certificates, with any port. */
  readonly redirectOrigins?: readonly string[] | undefined;
}

export interface AuthenticationOptions {
  readonly anonymous: boolean;
  readonly configFile?: string;
  readonly tokenFile?: string;
  readonly webhook?: { readonly configFile: string; readonly cacheMs: number; readonly version: 'v1beta1' | 'v1' };
  readonly oidc?: OidcOptions;
  readonly requestHeader?: RequestHeaderOptions;
  /** Absent: there is no such sign-in. */
  readonly console?: ConsoleSignInOptions | undefined;
}

const DEFAULT_WEBHOOK_CACHE_MS = 120_000;
/** Checks the flags and completes them with defaults. Throws {@link OptionsError}. */
export function parseAuthenticationOptions(values: FlagValues): AuthenticationOptions {
  const tokenFile = textOf(values, 'token-auth-file');
  const config = textOf(values, 'authentication-config');
  if (
    config !== undefined &&
    AUTHENTICATION_FLAGS.some(({ name }) => name.startsWith('oidc-') && values[name] !== undefined)
  )
    throw new OptionsError(
      '--authentication-config: authentication-config file and oidc-* flags are mutually exclusive',
    );
  const configFile = textOf(values, 'authentication-token-webhook-config-file');
  const cacheMs = durationMsOf(values, 'authentication-token-webhook-cache-ttl', DEFAULT_WEBHOOK_CACHE_MS);
  const version = choiceOf(values, 'authentication-token-webhook-version', ['v1beta1', 'v1']);
  const oidc = parseOidc(values);
  const requestHeader = parseRequestHeader(values);
  return {
    anonymous: booleanOf(values, 'anonymous-auth', true),
    configFile: config,
    tokenFile,
    webhook: configFile === undefined ? undefined : { configFile, cacheMs, version },
    oidc,
    requestHeader,
    console: parseConsole(values, { oidc, hasConfig: config !== undefined }),
  };
}

interface IssuerFlags {
  readonly oidc: OidcOptions | undefined;
  readonly hasConfig: boolean;
}

function parseConsole(values: FlagValues, { oidc, hasConfig }: IssuerFlags): ConsoleSignInOptions | undefined {
  const clientId = textOf(values, 'console-oidc-client-id');
  if (clientId === undefined) {
    const alone = ['console-oidc-client-secret-file', 'console-oidc-redirect-origin'].find(
      (name) => values[name] !== undefined,
    );
    if (alone !== undefined) throw new OptionsError(`--${alone}: needs --console-oidc-client-id`);
    return undefined;
  }
  if (oidc === undefined && !hasConfig)
    throw new OptionsError('--console-oidc-client-id: needs --oidc-issuer-url or --authentication-config');
  if (oidc !== undefined && clientId !== oidc.clientId)
    throw new OptionsError(
      `--console-oidc-client-id: tokens for ${clientId} are not accepted: --oidc-client-id is ${oidc.clientId}`,
    );
  const origins = listOf(values, 'console-oidc-redirect-origin')?.map(originOf) ?? [];
  return {
    clientId,
    clientSecretFile: textOf(values, 'console-oidc-client-secret-file'),
    redirectOrigins: origins.length === 0 ? undefined : origins,
  };
}

/** An origin as URLs have it: lower case, without the default port. */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url?.protocol === 'https:' && url.href === `${url.origin}/` && !url.hostname.includes('*');
  if (!isOrigin)
    throw new OptionsError(
      `--console-oidc-redirect-origin: ${text} is not an https origin such as https://console.example.com`,
    );
  return url.origin;
}

function parseRequestHeader(values: FlagValues): RequestHeaderOptions | undefined {
  const clientCaFile = textOf(values, 'requestheader-client-ca-file');
  if (clientCaFile === undefined) return undefined; // without an authority no front proxy is trusted
  const lower = (name: string, otherwise: readonly string[]): string[] =>
    (listOf(values, name) ?? otherwise).map((text) => text.toLowerCase());
  return {
    clientCaFile,
    allowedNames: listOf(values, 'requestheader-allowed-names') ?? [],
    usernameHeaders: lower('requestheader-username-headers', ['x-remote-user']),
    uidHeaders: lower('requestheader-uid-headers', []),
    groupHeaders: lower('requestheader-group-headers', ['x-remote-group']),
    extraPrefixes: lower('requestheader-extra-headers-prefix', ['x-remote-extra-']),
  };
}
