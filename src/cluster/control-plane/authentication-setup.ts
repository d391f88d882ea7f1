/** Authenticators of the API server, from the files its flags name. */
import { type AuthenticationConfig, readAuthenticationConfig } from '../../apiserver/authn/authentication-config.ts';
import type { TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import { createOidcAuthenticator } from '../../apiserver/authn/oidc.ts';
import { createReloadedTokens } from '../../apiserver/authn/reloaded-tokens.ts';
import type { RequestHeaderConfig } from '../../apiserver/authn/request-header.ts';
import { createTokenFileAuthenticator } from '../../apiserver/authn/token-file.ts';
import { createWebhookTokenAuthenticator } from '../../apiserver/authn/webhook-token.ts';
import type { AuthenticationOptions } from '../../apiserver/options/authentication-options.ts';
import type { WebhookClient } from '../../apiserver/webhook/webhook-client.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { OptionFiles, SetupPlatform } from './option-files.ts';

export interface AuthenticationSetup {
  readonly anonymous: boolean;
  /** Absent: all. */
  readonly anonymousPaths?: readonly string[];
  /** Authenticators between those of bootstrap tokens and of service accounts. */
  readonly tokens: { readonly first: readonly TokenAuthenticator[]; readonly last: readonly TokenAuthenticator[] };
  readonly requestHeader?: RequestHeaderConfig;
  /** Authorities of client certificates beside the cluster's own. */
  readonly extraClientCaPem: string;
  /** Takes up another authority of front proxies. Throws when it holds no certificate. */
  readonly useProxyAuthority?: (pem: string) => void;
  /** Takes up the authority of clients; with none, peers of the proxies' authority are never users. */
  readonly useClientAuthority?: (pem: string) => void;
}

interface AuthenticationDeps {
  readonly platform: SetupPlatform;
  readonly files: OptionFiles;
  readonly client: WebhookClient;
  /** Whom tokens must be for. */
  readonly audiences: readonly string[];
}

type ProxySetup = Pick<
  AuthenticationSetup,
  'requestHeader' | 'extraClientCaPem' | 'useProxyAuthority' | 'useClientAuthority'
>;

export async function loadAuthentication(
  deps: AuthenticationDeps,
  options: AuthenticationOptions,
): Promise<AuthenticationSetup> {
  const { platform, files, client, audiences } = deps;
  const { tokenFile, oidc, webhook } = options;
  const first: TokenAuthenticator[] = [];
  const last: TokenAuthenticator[] = [];
  if (tokenFile !== undefined) {
    const text = await files.text('token-auth-file', tokenFile);
    first.push(await files.read('token-auth-file', tokenFile, () => createTokenFileAuthenticator(text)));
  }
  if (oidc !== undefined) {
    const { caFile, ...rest } = oidc;
    const trust = caFile === undefined ? {} : { caPem: await files.text('oidc-ca-file', caFile) };
    last.push(createOidcAuthenticator(platform, { ...rest, ...trust }));
  }
  if (webhook !== undefined) {
    const target = await files.webhookTarget('authentication-token-webhook-config-file', webhook.configFile);
    last.push(createWebhookTokenAuthenticator({ ...platform, client: client, target, audiences: audiences }, webhook));
  }
  const config = await authenticationConfig(deps, options.configFile);
  if (config.reloaded !== undefined) last.push(config.reloaded);
  const { enabled: anonymous, paths } = config.anonymous ?? { enabled: options.anonymous };
  return {
    anonymous,
    anonymousPaths: paths,
    tokens: { first, last },
    ...(await requestHeaderSetup(deps, options)),
  };
}

/** Issuers follow the file; who may come without a token is settled at the start. */
async function authenticationConfig(
  { platform, files }: AuthenticationDeps,
  path: string | undefined,
): Promise<Pick<AuthenticationConfig, 'anonymous'> & { readonly reloaded?: TokenAuthenticator }> {
  if (path === undefined) return {};
  const flag = 'authentication-config';
  const { parseYaml } = await import('../../api/codec/yaml.ts');
  const parse = (text: string): AuthenticationConfig => readAuthenticationConfig(parseYaml(text).value);
  const issuersOf = ({ issuers }: AuthenticationConfig): TokenAuthenticator[] =>
    issuers.map((issuer) => createOidcAuthenticator(platform, issuer));
  const text = await files.text(flag, path);
  const config = await files.read(flag, path, () => parse(text));
  const { clock, log } = platform;
  const read = (): Promise<string> => platform.files.readText(path);
  const reloaded = createReloadedTokens(
    { clock, log: log.child('authentication'), read, parse: async (now) => issuersOf(parse(now)) },
    { text, issuers: issuersOf(config) },
  );
  return { reloaded, anonymous: config.anonymous };
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
