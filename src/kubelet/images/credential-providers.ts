/**
 * Runs credential provider programs to get credentials for an image: one request on standard input, one response on
 * standard output, which is cached as long as it requests. Upstream: pkg/credentialprovider/plugin.
 *
 * Invariants: at most one call with the same cache key runs at a time. A program that fails is logged and provides
 * nothing, as upstream, so that the pull continues with other credentials.
 */
import { shown } from '../../base/shown.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { Pod, ServiceAccount } from '../../api/gen/core-v1.ts';
import type { TokenRequest } from '../../api/gen/authentication-v1.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Exec } from '../../platform/exec.ts';
import type { Log } from '../../platform/log.ts';
import type { CredentialProvider, ProviderTokenAttributes } from './credential-provider-config.ts';
import type { ImageReference } from '../../api/image-reference.ts';
import { identityOf, keyMatches, type DockerConfig, type PullSource, type SourcedConfig } from './pull-credentials.ts';

export interface CredentialProvidersDeps {
  readonly clock: Clock;
  readonly exec: Pick<Exec, 'run'>;
  readonly log: Log;
  /** Absent without an API server: providers run without tokens, and those that require one are not called. */
  readonly accounts?: {
    get(namespace: string, name: string): Promise<ServiceAccount>;
    /** Cached for the service account while it is valid. */
    token(namespace: string, name: string, request: TokenRequest): Promise<string>;
  };
}

export interface CredentialProviders {
  /**
   * The providers' credentials for an image, in order of the configuration; entries by registry as in a docker
   * configuration. Credentials provided for a service account's token belong to that account.
   */
  configsFor(image: ImageReference, pod: Pod): Promise<readonly SourcedConfig[]>;
}

/** The longest that one call of a provider may take. */
const EXEC_TIMEOUT_MS = 60_000;
const KEY_TYPES = ['Image', 'Registry', 'Global'] as const;
type KeyType = (typeof KEY_TYPES)[number];

interface ProviderResponse {
  readonly cacheKeyType: KeyType;
  readonly cacheDurationMs: number;
  readonly auth: DockerConfig;
}

interface Account {
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Distinguishes accounts in the cache key. */
  readonly cacheKey: string;
  /** The account whose pods may use the credentials; absent: all pods. */
  readonly source?: PullSource;
}

const NO_ACCOUNT: Account = { token: '', annotations: {}, cacheKey: '' };

/** No program runs before the first request. */
export function createCredentialProviders(
  deps: CredentialProvidersDeps,
  { providers, binDir }: { readonly providers: readonly CredentialProvider[]; readonly binDir: string },
): CredentialProviders {
  const log = deps.log.child('credential-provider');
  const lookups = providers.map((provider) => ({ provider, lookup: createCredentialLookup(deps, provider, binDir) }));
  return {
    async configsFor(image, pod) {
      const matching = lookups.filter(({ provider }) => provider.matchImages.some((glob) => keyMatches(glob, image)));
      const answers = await Promise.all(
        matching.map(({ provider, lookup }) =>
          lookup(image, pod).catch((error: unknown) => {
            log.error('Failed getting credential from external registry credential provider', {
              provider: provider.name,
              image: image.pullName,
              err: error,
            });
            return undefined;
          }),
        ),
      );
      return answers.filter((answer) => answer !== undefined);
    },
  };
}

type CredentialLookup = (image: ImageReference, pod: Pod) => Promise<SourcedConfig | undefined>;

function createCredentialLookup(
  deps: CredentialProvidersDeps,
  provider: CredentialProvider,
  binDir: string,
): CredentialLookup {
  const { clock } = deps;
  const cache = new Map<string, { readonly auth: DockerConfig; readonly untilMs: number }>();
  const running = new Map<string, Promise<DockerConfig>>();
  const keyOf = (type: KeyType, image: ImageReference, account: Account): string => {
    const subject = { Image: image.pullName, Registry: image.registry, Global: '' }[type];
    return JSON.stringify([account.cacheKey, type, subject]);
  };

  function cachedAuth(image: ImageReference, account: Account): DockerConfig | undefined {
    for (const [key, { untilMs }] of cache) if (untilMs <= clock.monotonicMs()) cache.delete(key);
    for (const type of KEY_TYPES) {
      const found = cache.get(keyOf(type, image, account));
      if (found !== undefined) return found.auth;
    }
    return undefined;
  }

  async function runProvider(image: ImageReference, account: Account): Promise<DockerConfig> {
    const answer = await execute(deps, { provider, binDir, image: image.pullName, account });
    if (answer.cacheDurationMs > 0)
      cache.set(keyOf(answer.cacheKeyType, image, account), {
        auth: answer.auth,
        untilMs: clock.monotonicMs() + answer.cacheDurationMs,
      });
    return answer.auth;
  }

  return async (image, pod) => {
    const account = await accountOf(deps, provider.tokenAttributes, pod);
    if (account === undefined) return undefined;
    const sourced = (config: DockerConfig): SourcedConfig => ({
      config,
      ...(account.source && { source: account.source }),
    });
    const present = cachedAuth(image, account);
    if (present !== undefined) return sourced(present);
    const key = keyOf('Image', image, account);
    let answer = running.get(key);
    if (answer === undefined) {
      answer = runProvider(image, account).finally(() => running.delete(key));
      running.set(key, answer);
    }
    return sourced(await answer);
  };
}

/** The pod's service account with a token for the program; undefined: the program is not called. */
async function accountOf(
  { accounts }: CredentialProvidersDeps,
  wanted: ProviderTokenAttributes | undefined,
  pod: Pod,
): Promise<Account | undefined> {
  if (wanted === undefined) return NO_ACCOUNT;
  const { namespace = '', name: podName = '', uid: podUid = '' } = pod.metadata;
  const name = pod.spec?.serviceAccountName ?? '';
  if (accounts === undefined || name === '') return wanted.requireServiceAccount ? undefined : NO_ACCOUNT;
  const account = await accounts.get(namespace, name);
  const present = account.metadata.annotations ?? {};
  const { requiredServiceAccountAnnotationKeys: required, optionalServiceAccountAnnotationKeys: optional } = wanted;
  const absent = required.filter((key) => present[key] === undefined);
  // A service account without a required annotation gets nothing from this plugin, as upstream.
  if (absent.length > 0) return undefined;
  const annotations = Object.fromEntries(
    [...required, ...optional].flatMap((key) => (present[key] === undefined ? [] : [[key, present[key]]])),
  );
  const token = await accounts.token(namespace, name, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: {},
    spec: {
      audiences: [wanted.serviceAccountTokenAudience],
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: podName, uid: podUid },
    },
  });
  const holder = [namespace, name, account.metadata.uid ?? '', ...Object.entries(annotations).flat()];
  return {
    token,
    annotations,
    cacheKey: JSON.stringify(wanted.cacheType === 'Token' ? [...holder, token] : holder),
    source: { serviceAccount: identityOf({ ...account.metadata, namespace, name }) },
  };
}

async function execute(
  { exec }: CredentialProvidersDeps,
  call: { provider: CredentialProvider; binDir: string; image: string; account: Account },
): Promise<ProviderResponse> {
  const { provider, binDir, image, account } = call;
  const request = {
    kind: 'CredentialProviderRequest',
    apiVersion: provider.apiVersion,
    image,
    ...(account.token === '' ? {} : { serviceAccountToken: account.token }),
    ...(Object.keys(account.annotations).length === 0 ? {} : { serviceAccountAnnotations: account.annotations }),
  };
  const result = await exec.run(`${binDir}/${provider.name}`, provider.args, {
    input: JSON.stringify(request),
    env: provider.env,
    timeoutMs: EXEC_TIMEOUT_MS,
  });
  if (result.timedOut) throw new Error(`error execing credential provider plugin ${provider.name}: it took too long`);
  if (result.exitCode !== 0)
    throw new Error(
      `error execing credential provider plugin ${provider.name} for image ${image}: exit status ${result.exitCode}: ${result.stderr.trim()}`,
    );
  return parseResponse(result.stdout, provider);
}

function parseResponse(text: string, provider: CredentialProvider): ProviderResponse {
  const response = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const { kind, apiVersion, cacheKeyType, cacheDuration, auth } = response;
  if (kind !== 'CredentialProviderResponse' || apiVersion !== provider.apiVersion)
    throw new Error(
      `apiVersion from credential plugin response did not match expected apiVersion:${provider.apiVersion}, actual apiVersion:${shown(apiVersion)}`,
    );
  if (!KEY_TYPES.includes(cacheKeyType as KeyType))
    throw new Error(`credential provider plugin did not return a valid cacheKeyType: ${JSON.stringify(cacheKeyType)}`);
  const durationMs = typeof cacheDuration === 'string' ? parseDurationMs(cacheDuration) : undefined;
  return {
    cacheKeyType: cacheKeyType as KeyType,
    cacheDurationMs: durationMs ?? provider.defaultCacheDurationMs,
    auth: (auth ?? {}) as DockerConfig,
  };
}
