/** Creates the API server's authenticators from the files in its flags. */
import { type AuthenticationConfig, readAuthenticationConfig } from '../../apiserver/authn/authentication-config.ts';
import type { TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import { createOidcAuthenticator, type OidcConfig } from '../../apiserver/authn/oidc.ts';
import { createReloadedTokens } from '../../apiserver/authn/reloaded-tokens.ts';
import type { RequestHeaderConfig } from '../../apiserver/authn/request-header.ts';
import { createTokenFileAuthenticator } from '../../apiserver/authn/token-file.ts';
import { createWebhookTokenAuthenticator } from '../../apiserver/authn/webhook-token.ts';
import type { AuthenticationOptions } from '../../apiserver/options/authentication-options.ts';
import type { WebhookClient } from '../../apiserver/webhook/webhook-client.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import { type ConsoleSignIn, loadConsoleSignIn } from './console-sign-in-setup.ts';
import type { OptionFiles, SetupPlatform } from './option-files.ts';

export interface AuthenticationSetup {
  readonly anonymous: boolean;
  /** Absent: all paths. */
  readonly anonymousPaths?: readonly string[];
  /** Authenticators that run before and after those of service accounts. */
  readonly tokens: { readonly first: readonly TokenAuthenticator[]; readonly last: readonly TokenAuthenticator[] };
  readonly requestHeader?: RequestHeaderConfig;
  /** Absent: the console's users cannot sign in at an OpenID Connect issuer. */
  readonly consoleSignIn?: ConsoleSignIn | undefined;
  /** Authorities of client certificates besides the cluster's own. */
  readonly extraClientCaPem: string;
  /** Replaces the authority of front proxies. Throws when the text has no certificate. */
  readonly useProxyAuthority?: (pem: string) => void;
  /** Replaces the authority of clients; without one, peers of the front proxies' authority are never users. */
  readonly useClientAuthority?: (pem: string) => void;
}

interface AuthenticationDeps {
  readonly platform: SetupPlatform;
  readonly files: OptionFiles;
  readonly client: WebhookClient;
  /** The audiences that tokens must have. */
  readonly audiences: readonly string[];
  /** Whether the server has the console in the browser. */
  readonly servesConsole: boolean;
}

type ProxySetup = Pick<
  AuthenticationSetup,
  'requestHeader' | 'extraClientCaPem' | 'useProxyAuthority' | 'useClientAuthority'
>;

export async function loadAuthentication(
  deps: AuthenticationDeps,
  options: AuthenticationOptions,
): Promise<AuthenticationSetup> {
  const { platform, files, client, audiences, servesConsole } = deps;
  const { tokenFile, oidc, webhook } = options;
  const first: TokenAuthenticator[] = [];
  const last: TokenAuthenticator[] = [];
  let issuers = async (): Promise<readonly OidcConfig[]> => [];
  if (tokenFile !== undefined) {
    const text = await files.text('token-auth-file', tokenFile);
    first.push(await files.read('token-auth-file', tokenFile, () => createTokenFileAuthenticator(text)));
  }
  if (oidc !== undefined) {
    const { caFile, ...rest } = oidc;
    const trust = caFile === undefined ? {} : { caPem: await files.text('oidc-ca-file', caFile) };
    const issuer = { ...rest, ...trust };
    issuers = async () => [issuer];
    last.push(createOidcAuthenticator(platform, issuer));
  }
  if (webhook !== undefined) {
    const target = await files.webhookTarget('authentication-token-webhook-config-file', webhook.configFile);
    last.push(createWebhookTokenAuthenticator({ ...platform, client: client, target, audiences: audiences }, webhook));
  }
  const config = await authenticationConfig(deps, options.configFile);
  if (config.reloaded !== undefined) last.push(config.reloaded);
  if (config.issuers !== undefined) issuers = config.issuers;
  const { enabled: anonymous, paths } = config.anonymous ?? { enabled: options.anonymous };
  return {
    anonymous,
    anonymousPaths: paths,
    tokens: { first, last },
    consoleSignIn: await loadConsoleSignIn({ platform, files, issuers, servesConsole }, options.console),
    ...(await requestHeaderSetup(deps, options)),
  };
}

interface ReloadedConfig extends Pick<AuthenticationConfig, 'anonymous'> {
  readonly reloaded?: TokenAuthenticator;
  /** The issuers of the last valid file. */
  readonly issuers?: () => Promise<readonly OidcConfig[]>;
}

/** Issuers are reloaded from the file; the paths for anonymous requests are fixed at the start. */
async function authenticationConfig(
  { platform, files }: AuthenticationDeps,
  path: string | undefined,
): Promise<ReloadedConfig> {
  if (path === undefined) return {};
  const flag = 'authentication-config';
  const { parseYaml } = await import('../../api/codec/yaml.ts');
  const parse = (text: string): AuthenticationConfig => readAuthenticationConfig(parseYaml(text).value);
  let present: readonly OidcConfig[] = [];
  const issuersOf = ({ issuers }: AuthenticationConfig): TokenAuthenticator[] => {
    present = issuers;
    return issuers.map((issuer) => createOidcAuthenticator(platform, issuer));
  };
  const text = await files.text(flag, path);
  const config = await files.read(flag, path, () => parse(text));
  const { clock, log } = platform;
  const read = (): Promise<string> => platform.files.readText(path);
  const reloaded = createReloadedTokens(
    { clock, log: log.child('authentication'), read, parse: async (now) => issuersOf(parse(now)) },
    { text, issuers: issuersOf(config) },
  );
  const issuers = async (): Promise<readonly OidcConfig[]> => {
    await reloaded.reload();
    return present;
  };
  return { reloaded, anonymous: config.anonymous, issuers };
}

async function requestHeaderSetup(
  { platform, files }: AuthenticationDeps,
  { requestHeader }: AuthenticationOptions,
): Promise<ProxySetup> {
  if (requestHeader === undefined) return { extraClientCaPem: '' };
  const flag = 'requestheader-client-ca-file';
  const { clientCaFile, ...rest } = requestHeader;
  const extraClientCaPem = await files.text(flag, clientCaFile);
  const { crypto } = platform;
  let clientFingerprints: readonly string[] = [];
  let fingerprints = await files.read(flag, clientCaFile, () => fingerprintsOf(crypto, extraClientCaPem));
  return {
    extraClientCaPem,
    requestHeader: {
      ...rest,
      authorityFingerprints: () => fingerprints,
      clientFingerprints: () => clientFingerprints,
    },
    useProxyAuthority: (pem) => {
      fingerprints = fingerprintsOf(crypto, pem);
    },
    useClientAuthority: (pem) => {
      clientFingerprints = fingerprintsIn(crypto, pem);
    },
  };
}

/** SHA-256 of the DER form of each certificate. Throws when there is none. */
function fingerprintsOf(crypto: CryptoPort, pem: string): string[] {
  const fingerprints = fingerprintsIn(crypto, pem);
  if (fingerprints.length === 0) throw new Error('there is no certificate in it');
  return fingerprints;
}

function fingerprintsIn(crypto: CryptoPort, pem: string): string[] {
  const blocks = [...pem.matchAll(/-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g)];
  return blocks.map(([, base64]) => crypto.sha256Hex(Buffer.from(base64!, 'base64')));
}
