/**
 * Authentication flags: which authenticators are enabled, and their settings. Upstream:
 * kubeapiserver/options/authentication.go.
 */
import {
  booleanOf,
  choiceOf,
  durationMsOf,
  type Flag,
  type FlagValues,
  listOf,
  OptionsError,
  textOf,
} from './flags.ts';

export const AUTHENTICATION_FLAGS: readonly Flag[] = [
  {
    name: 'authentication-config',
    value: '<file>',
    description: 'AuthenticationConfiguration: token issuers and anonymous paths; instead of the oidc flags',
  },
  {
    name: 'anonymous-auth',
    value: '<bool>',
    description: 'serve requests without credentials as system:anonymous (default true)',
  },
  { name: 'token-auth-file', value: '<file>', description: 'CSV of static tokens: token,user,uid,"group1,group2"' },
  {
    name: 'authentication-token-webhook-config-file',
    value: '<file>',
    description: 'kubeconfig of a TokenReview webhook',
  },
  {
    name: 'authentication-token-webhook-cache-ttl',
    value: '<duration>',
    description: 'how long its answers are kept (default 2m)',
  },
  {
    name: 'authentication-token-webhook-version',
    value: '<version>',
    description: 'version of TokenReview it is asked by: v1beta1 (default) or v1',
  },
  { name: 'oidc-issuer-url', value: '<url>', description: 'issuer of OpenID Connect tokens; https only' },
  { name: 'oidc-client-id', value: '<id>', description: 'audience OpenID Connect tokens must be for' },
  { name: 'oidc-username-claim', value: '<claim>', description: 'claim with the user name (default sub)' },
  {
    name: 'oidc-username-prefix',
    value: '<prefix>',
    description: 'put before user names; - for none (default: the issuer and #, unless the claim is email)',
  },
  { name: 'oidc-groups-claim', value: '<claim>', description: 'claim with the groups' },
  { name: 'oidc-groups-prefix', value: '<prefix>', description: 'put before groups' },
  { name: 'oidc-required-claim', value: '<key=value>', description: 'claims a token must have', list: true },
  {
    name: 'oidc-signing-algs',
    value: '<names>',
    description: 'signature algorithms taken (default RS256)',
    list: true,
  },
  {
    name: 'oidc-ca-file',
    value: '<file>',
    description: "authority of the issuer's certificate (default: the system's)",
  },
  {
    name: 'console-oidc-client-id',
    value: '<id>',
    description:
      "client as which the console's users sign in at the OpenID Connect issuer that has it as audience (default: no such sign-in)",
  },
  {
    name: 'console-oidc-client-secret-file',
    value: '<file>',
    description: 'secret of that client (default: a public client)',
  },
  {
    name: 'console-oidc-redirect-origin',
    value: '<origin>',
    description:
      'origin of the console to which that issuer sends browsers back, e.g. https://console.example.com (default: the names and addresses in the serving certificate)',
    list: true,
  },
  {
    name: 'requestheader-client-ca-file',
    value: '<file>',
    description: 'authority of front proxies that say in headers for whom they ask',
  },
  {
    name: 'requestheader-allowed-names',
    value: '<names>',
    description: 'common names of front proxies (default: any of that authority)',
    list: true,
  },
  {
    name: 'requestheader-username-headers',
    value: '<names>',
    description: 'headers with the user name (default X-Remote-User)',
    list: true,
  },
  { name: 'requestheader-uid-headers', value: '<names>', description: 'headers with the uid', list: true },
  {
    name: 'requestheader-group-headers',
    value: '<names>',
    description: 'headers with groups (default X-Remote-Group)',
    list: true,
  },
  {
    name: 'requestheader-extra-headers-prefix',
    value: '<prefixes>',
    description: 'beginnings of headers with extra values (default X-Remote-Extra-)',
    list: true,
  },
];

/** OpenID Connect. */
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
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];

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

function parseOidc(values: FlagValues): OidcOptions | undefined {
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
