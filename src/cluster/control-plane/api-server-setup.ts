/**
 * What the API server's options mean: reads the files they name and makes authenticators, authorizers, the configuration of
 * admission and the auditor of them. Whatever is wrong with a file is told with its flag, before anything starts.
 */
import { readAdmissionConfig } from '../../apiserver/admission/admission-config.ts';
import type { AdmissionConfig } from '../../apiserver/admission/list.ts';
import { createAuditor, type Auditor } from '../../apiserver/audit/auditor.ts';
import type { AuditBackend } from '../../apiserver/audit/event.ts';
import { createDelivery } from '../../apiserver/audit/delivery.ts';
import { createLogSink } from '../../apiserver/audit/log-sink.ts';
import { checkPolicy } from '../../apiserver/audit/policy.ts';
import { createWebhookSink } from '../../apiserver/audit/webhook-sink.ts';
import { type AuthenticationConfig, readAuthenticationConfig } from '../../apiserver/authn/authentication-config.ts';
import type { TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import { createOidcAuthenticator } from '../../apiserver/authn/oidc.ts';
import type { RequestHeaderConfig } from '../../apiserver/authn/request-header.ts';
import { createReloadedTokens } from '../../apiserver/authn/reloaded-tokens.ts';
import { createTokenFileAuthenticator } from '../../apiserver/authn/token-file.ts';
import { createWebhookTokenAuthenticator } from '../../apiserver/authn/webhook-token.ts';
import type { Authorizer } from '../../apiserver/authz/contract.ts';
import {
  type ConfiguredAuthorizer,
  type ConfiguredWebhook,
  readAuthorizationConfig,
} from '../../apiserver/authz/authorization-config.ts';
import { createWebhookAuthorizer } from '../../apiserver/authz/webhook-authorizer.ts';
import type { ApiServerOptions } from '../../apiserver/options/api-server-options.ts';
import type { AuditOptions } from '../../apiserver/options/audit-options.ts';
import type { AuthenticationOptions } from '../../apiserver/options/authentication-options.ts';
import type { AuthorizationMode, AuthorizationOptions } from '../../apiserver/options/authorization-options.ts';
import { followFile } from '../../apiserver/options/followed-file.ts';
import { createWebhookClient, type WebhookClient } from '../../apiserver/webhook/webhook-client.ts';
import type { WebhookTarget } from '../../apiserver/webhook/webhook-target.ts';
import { errorMessage } from '../../base/errors.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { BasePlatform, Platform } from '../../platform/platform.ts';
import type { ComponentTracing } from '../tracing/create-tracing.ts';
import type { TracingOptions } from '../../apiserver/options/tracing-options.ts';
import { PreflightError } from '../preflight-error.ts';

/** The parts options decide about. */
export interface ApiServerSetup {
  readonly admission: { readonly plugins: readonly string[]; readonly config: AdmissionConfig };
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
  /** In order: built in ones by name, webhooks as they are. */
  readonly authorizers: AuthorizerList;
  /** The same from a file; read for each request, another list after a change. */
  readonly authorizersNow?: () => AuthorizerList | Promise<AuthorizerList>;
  readonly auditor?: Auditor;
  /** Absent: requests are not traced. */
  readonly tracing?: ComponentTracing | undefined;
}

type ProxySetup = Pick<
  ApiServerSetup,
  'requestHeader' | 'extraClientCaPem' | 'useProxyAuthority' | 'useClientAuthority'
>;

/** Built in ones by name, others as they are. */
type AuthorizerList = readonly (BuiltInAuthorizer | Authorizer)[];

/** An authorizer that needs nothing of the options. */
export type BuiltInAuthorizer = Exclude<AuthorizationMode, 'Webhook'>;

type SetupPlatform = Pick<Platform, 'files' | 'net' | 'host' | keyof BasePlatform>;

/** Reads the files. `audiences`: whom tokens must be for. Rejects with `PreflightError`. */
export async function loadApiServerSetup(
  platform: SetupPlatform,
  options: ApiServerOptions,
  audiences: readonly string[],
): Promise<ApiServerSetup> {
  const loader = new Loader(platform, audiences);
  return {
    admission: {
      plugins: options.admission.plugins,
      config: {
        ...(await loader.admission(options.admission.configFile)),
        tolerationSeconds: options.admission.tolerationSeconds,
      },
    },
    ...(await loader.authentication(options.authentication)),
    ...(await loader.authorization(options.authorization)),
    ...(await loader.audit(options.audit)),
    tracing: await loader.tracing(options.tracing),
  };
}

class Loader {
  readonly #platform: SetupPlatform;
  readonly #client: WebhookClient;
  readonly #audiences: readonly string[];

  constructor(platform: SetupPlatform, audiences: readonly string[]) {
    this.#platform = platform;
    this.#audiences = audiences;
    this.#client = createWebhookClient(platform);
  }

  async #text(flag: string, path: string): Promise<string> {
    return this.#tell(flag, path, () => this.#platform.files.readText(path));
  }

  async #tell<T>(flag: string, path: string, make: () => T | Promise<T>): Promise<T> {
    try {
      return await make();
    } catch (error) {
      throw new PreflightError(`--${flag}: ${path}: ${errorMessage(error)}`);
    }
  }

  async #yaml(flag: string, path: string): Promise<unknown> {
    const text = await this.#text(flag, path);
    const { parseYaml } = await import('../../api/codec/yaml.ts');
    return this.#tell(flag, path, () => parseYaml(text).value);
  }

  #target(flag: string, path: string): Promise<WebhookTarget> {
    const { files, net, clock } = this.#platform;
    return this.#tell(flag, path, async () => {
      const { loadKubeconfig } = await import('../../client/kubeconfig.ts');
      const found = await loadKubeconfig({ files, net, clock, userAgent: 'keelson' }, path);
      const { server: url, tls = {}, token, tokenSource, basicAuth } = found;
      const headers = async (): Promise<Record<string, string>> => {
        const bearer = token ?? (await tokenSource?.token());
        if (bearer !== undefined) return { authorization: `Bearer ${bearer}` };
        if (basicAuth === undefined) return {};
        const pair = Buffer.from(`${basicAuth.username}:${basicAuth.password}`).toString('base64');
        return { authorization: `Basic ${pair}` };
      };
      return { url, tls, destination: async () => ({ url, headers: await headers() }) };
    });
  }

  async admission(configFile: string | undefined): Promise<AdmissionConfig> {
    const flag = 'admission-control-config-file';
    if (configFile === undefined) return {};
    const value = await this.#yaml(flag, configFile);
    const folder = configFile.slice(0, configFile.lastIndexOf('/') + 1);
    const placeOf = (path: string): string => (path.startsWith('/') ? path : folder + path);
    const read = (path: string): Promise<unknown> => this.#yaml(flag, placeOf(path));
    const target = (path: string): Promise<WebhookTarget> => this.#target(flag, placeOf(path));
    return this.#tell(flag, configFile, () => readAdmissionConfig(value, read, target));
  }

  async authentication(
    options: AuthenticationOptions,
  ): Promise<Pick<ApiServerSetup, 'anonymous' | 'anonymousPaths' | 'tokens' | keyof ProxySetup>> {
    const { tokenFile, oidc, webhook } = options;
    const first: TokenAuthenticator[] = [];
    const last: TokenAuthenticator[] = [];
    if (tokenFile !== undefined) {
      const text = await this.#text('token-auth-file', tokenFile);
      first.push(await this.#tell('token-auth-file', tokenFile, () => createTokenFileAuthenticator(text)));
    }
    if (oidc !== undefined) {
      const { caFile, ...rest } = oidc;
      const trust = caFile === undefined ? {} : { caPem: await this.#text('oidc-ca-file', caFile) };
      last.push(createOidcAuthenticator(this.#platform, { ...rest, ...trust }));
    }
    if (webhook !== undefined) {
      const target = await this.#target('authentication-token-webhook-config-file', webhook.configFile);
      last.push(
        createWebhookTokenAuthenticator(
          { ...this.#platform, client: this.#client, target, audiences: this.#audiences },
          webhook,
        ),
      );
    }
    const config = await this.#authenticationConfig(options.configFile);
    if (config.reloaded !== undefined) last.push(config.reloaded);
    const { enabled: anonymous, paths } = config.anonymous ?? { enabled: options.anonymous };
    return {
      anonymous,
      anonymousPaths: paths,
      tokens: { first, last },
      ...(await this.#requestHeader(options)),
    };
  }

  /** Issuers follow the file; who may come without a token is settled at the start. */
  async #authenticationConfig(
    path: string | undefined,
  ): Promise<Pick<AuthenticationConfig, 'anonymous'> & { readonly reloaded?: TokenAuthenticator }> {
    if (path === undefined) return {};
    const flag = 'authentication-config';
    const { parseYaml } = await import('../../api/codec/yaml.ts');
    const parse = (text: string): AuthenticationConfig => readAuthenticationConfig(parseYaml(text).value);
    const issuersOf = ({ issuers }: AuthenticationConfig): TokenAuthenticator[] =>
      issuers.map((issuer) => createOidcAuthenticator(this.#platform, issuer));
    const text = await this.#text(flag, path);
    const config = await this.#tell(flag, path, () => parse(text));
    const { clock, log, files } = this.#platform;
    const read = (): Promise<string> => files.readText(path);
    const reloaded = createReloadedTokens(
      { clock, log: log.child('authentication'), read, parse: async (now) => issuersOf(parse(now)) },
      { text, issuers: issuersOf(config) },
    );
    return { reloaded, anonymous: config.anonymous };
  }

  async #requestHeader({ requestHeader }: AuthenticationOptions): Promise<ProxySetup> {
    if (requestHeader === undefined) return { extraClientCaPem: '' };
    const flag = 'requestheader-client-ca-file';
    const { clientCaFile, ...rest } = requestHeader;
    const extraClientCaPem = await this.#text(flag, clientCaFile);
    const { crypto } = this.#platform;
    let clientFingerprints: readonly string[] = [];
    let fingerprints = await this.#tell(flag, clientCaFile, () => fingerprintsOf(crypto, extraClientCaPem));
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

  async authorization({
    modes,
    webhook,
    configFile,
  }: AuthorizationOptions): Promise<Pick<ApiServerSetup, 'authorizers' | 'authorizersNow'>> {
    if (configFile !== undefined) return this.#authorizationConfig(configFile);
    const flag = 'authorization-webhook-config-file';
    const chosen = modes.map((type): ConfiguredAuthorizer | BuiltInAuthorizer =>
      type === 'Webhook' ? webhookOf(webhook) : type,
    );
    return { authorizers: await this.#authorizers(chosen, flag) };
  }

  #authorizers(chosen: readonly (ConfiguredAuthorizer | BuiltInAuthorizer)[], flag: string): Promise<AuthorizerList> {
    return Promise.all(
      chosen.map((one) => {
        if (typeof one === 'string') return one;
        return one.type === 'Webhook' ? this.#webhookAuthorizer(one, flag) : one.type;
      }),
    );
  }

  async #authorizationConfig(path: string): Promise<Pick<ApiServerSetup, 'authorizers' | 'authorizersNow'>> {
    const flag = 'authorization-config';
    const { parseYaml } = await import('../../api/codec/yaml.ts');
    const parse = async (text: string): Promise<AuthorizerList> => {
      const chosen = await this.#tell(flag, path, () => readAuthorizationConfig(parseYaml(text).value));
      return this.#authorizers(chosen, flag);
    };
    const text = await this.#text(flag, path);
    const authorizers = await parse(text);
    const { clock, log, files } = this.#platform;
    const read = (): Promise<string> => files.readText(path);
    const file = followFile(
      { clock, log: log.child('authorization'), what: 'the authorization configuration', read, parse },
      { text, value: authorizers },
    );
    return { authorizers, authorizersNow: () => file.now() };
  }

  async #webhookAuthorizer(webhook: ConfiguredWebhook, flag: string): Promise<Authorizer> {
    const { clock, log } = this.#platform;
    const { kubeConfigFile, conditions, name } = webhook;
    const target = await this.#target(flag, kubeConfigFile);
    const deps = { client: this.#client, target, clock, log: log.child('authorization') };
    if (conditions.length === 0) return createWebhookAuthorizer(deps, webhook);
    const { compileWebhookConditions } = await import('../../apiserver/authz/webhook-conditions.ts');
    const concerns = await this.#tell(flag, name, () => compileWebhookConditions(conditions));
    return createWebhookAuthorizer(deps, { ...webhook, concerns });
  }

  async tracing({ configFile }: TracingOptions): Promise<ComponentTracing | undefined> {
    if (configFile === undefined) return undefined;
    const flag = 'tracing-config-file';
    const value = await this.#yaml(flag, configFile);
    const { readTracingConfiguration } = await import('../../apiserver/tracing/read-tracing-configuration.ts');
    const settings = await this.#tell(flag, configFile, () => readTracingConfiguration(value));
    const { createTracing } = await import('../tracing/create-tracing.ts');
    const { hostname } = await this.#platform.host.info();
    return createTracing(this.#platform, settings, { 'service.name': 'apiserver', 'host.name': hostname });
  }

  async audit({ policyFile, log: logOptions, webhook }: AuditOptions): Promise<Pick<ApiServerSetup, 'auditor'>> {
    if (policyFile === undefined) return {};
    const value = await this.#yaml('audit-policy-file', policyFile);
    const policy = await this.#tell('audit-policy-file', policyFile, () => checkPolicy(value));
    const { files, clock, random } = this.#platform;
    const log = this.#platform.log.child('audit');
    const backends: AuditBackend[] = [];
    if (logOptions !== undefined)
      backends.push(
        createDelivery({ sink: createLogSink({ files, clock }, logOptions), clock, log }, logOptions.delivery),
      );
    if (webhook !== undefined) {
      const target = await this.#target('audit-webhook-config-file', webhook.configFile);
      const sink = createWebhookSink({ client: this.#client, target, clock }, webhook.initialBackoffMs);
      backends.push(createDelivery({ sink, clock, log }, webhook.delivery));
    }
    return { auditor: createAuditor({ policy, backends, clock, random: random.fork('audit') }) };
  }
}

/** The one webhook of the flags. */
function webhookOf(webhook: AuthorizationOptions['webhook']): ConfiguredWebhook {
  const { configFile: kubeConfigFile, allowedMs, deniedMs, version } = webhook!;
  const timeoutMs = 30_000;
  return {
    type: 'Webhook',
    name: '',
    kubeConfigFile,
    version,
    allowedMs,
    deniedMs,
    timeoutMs,
    onFailure: 'noOpinion',
    conditions: [],
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
