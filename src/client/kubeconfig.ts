/**
 * Reads kubeconfig files. Upstream: client-go tools/clientcmd.
 *
 * Inline data wins over files, as upstream's. What is not done is refused with a clear error: credential plugins (`exec`,
 * `auth-provider`), proxies, impersonation beyond user and groups.
 */
import type { Clock } from '../platform/clock.ts';
import type { Files } from '../platform/files.ts';
import type { Net, TlsOptions } from '../platform/net.ts';
import type { Client } from './client.ts';
import { createRestClient, type RestClientDeps, type TokenSource } from './rest-client.ts';

/** A kubeconfig that cannot be used, and why. */
class KubeconfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KubeconfigError';
  }
}

interface NamedEntry<T> {
  readonly name: string;
  readonly value: T;
}
interface ClusterEntry {
  readonly server?: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
}
interface UserEntry {
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly 'as-groups'?: readonly string[];
  readonly 'as-uid'?: unknown;
  readonly 'as-user-extra'?: unknown;
  readonly exec?: unknown;
  readonly 'auth-provider'?: unknown;
}
interface ContextEntry {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

/** A resolved context: the server's address and the credentials, with files still to be read. */
export interface ResolvedContext {
  readonly server: string;
  readonly namespace: string;
  readonly cluster: ClusterEntry;
  readonly user: UserEntry;
}

/** JSON is YAML: files of our own are JSON, and the process that reads one (DNS) does without the YAML library. */
async function parseText(text: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    const { parse } = await import('yaml');
    return parse(text);
  }
}

/** Resolves a context (the current one by default) of a kubeconfig text. Rejects with `KubeconfigError`. */
export async function parseKubeconfig(text: string, contextName?: string): Promise<ResolvedContext> {
  const root = await parseText(text).catch((error: Error) => {
    throw new KubeconfigError(`kubeconfig is not valid YAML: ${error.message}`, { cause: error });
  });
  if (root === null || root === undefined) throw new KubeconfigError('kubeconfig is empty');
  if (typeof root !== 'object') throw new KubeconfigError('kubeconfig is not an object');
  const config = root as Record<string, unknown>;
  const wanted = contextName ?? config['current-context'];
  if (typeof wanted !== 'string' || wanted === '') throw new KubeconfigError('kubeconfig has no current-context');
  const context = find(entriesOf<ContextEntry>(config, 'contexts', 'context'), wanted, 'context');
  const cluster = find(entriesOf<ClusterEntry>(config, 'clusters', 'cluster'), context.cluster ?? '', 'cluster');
  const user =
    context.user === undefined ? {} : find(entriesOf<UserEntry>(config, 'users', 'user'), context.user, 'user');
  if (typeof cluster.server !== 'string' || !URL.canParse(cluster.server)) {
    throw new KubeconfigError(`cluster "${context.cluster}" has no valid server URL`);
  }
  if (user.exec !== undefined) throw new KubeconfigError('kubeconfig credential plugins (exec) are not supported');
  if (user['auth-provider'] !== undefined) throw new KubeconfigError('kubeconfig auth providers are not supported');
  if (user['as-uid'] !== undefined || user['as-user-extra'] !== undefined)
    throw new KubeconfigError('kubeconfig as-uid and as-user-extra are not supported');
  if (cluster['proxy-url'] !== undefined) throw new KubeconfigError('kubeconfig proxy-url is not supported');
  return { server: cluster.server, namespace: context.namespace ?? 'default', cluster, user };
}

function entriesOf<T>(config: Record<string, unknown>, list: string, field: string): NamedEntry<T>[] {
  const value = config[list];
  if (!Array.isArray(value)) return [];
  return value.map((entry: Record<string, unknown>) => ({
    name: String(entry?.['name']),
    value: (entry?.[field] ?? {}) as T,
  }));
}

function find<T>(all: readonly NamedEntry<T>[], name: string, what: string): T {
  const found = all.find((entry) => entry.name === name);
  if (found === undefined) throw new KubeconfigError(`${what} "${name}" does not exist in the kubeconfig`);
  return found.value;
}

export interface KubeconfigDeps {
  readonly files: Pick<Files, 'readText'>;
  readonly net: Net;
  readonly clock: Clock;
  readonly userAgent: string;
}

/** Reads the kubeconfig at `path` with the files it names. Relative paths start at its folder. */
export async function loadKubeconfig(
  deps: KubeconfigDeps,
  path: string,
  contextName?: string,
): Promise<RestClientDeps & { readonly namespace: string }> {
  const context = await parseKubeconfig(await deps.files.readText(path), contextName);
  const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
  const pem = async (data: string | undefined, file: string | undefined): Promise<string | undefined> => {
    if (data !== undefined && data !== '') return Buffer.from(data, 'base64').toString('utf8');
    return file === undefined ? undefined : await deps.files.readText(absolutePath(folder, file));
  };
  const { cluster, user } = context;
  const caPem = await pem(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const serverName = cluster['tls-server-name'];
  const readTls = async (): Promise<TlsOptions> => {
    const certPem = await pem(user['client-certificate-data'], user['client-certificate']);
    const keyPem = await pem(user['client-key-data'], user['client-key']);
    return {
      caPem,
      certPem,
      keyPem,
      serverName,
      insecureSkipVerify: cluster['insecure-skip-tls-verify'] === true ? true : undefined,
    };
  };
  const tls = await readTls();
  const inFiles = user['client-certificate'] !== undefined && (user['client-certificate-data'] ?? '') === '';
  return {
    net: deps.net,
    clock: deps.clock,
    userAgent: deps.userAgent,
    server: context.server,
    namespace: context.namespace,
    tls,
    tlsSource: inFiles ? rereadTls(deps, tls, readTls) : undefined,
    ...credentials(deps, folder, user),
  };
}

function credentials(deps: KubeconfigDeps, folder: string, user: UserEntry): Partial<RestClientDeps> {
  const impersonate = user.as === undefined ? {} : { impersonate: { user: user.as, groups: user['as-groups'] ?? [] } };
  if (user.token !== undefined && user.token !== '') return { token: user.token, ...impersonate };
  if (user.tokenFile !== undefined)
    return { tokenSource: createFileTokenSource(deps, absolutePath(folder, user.tokenFile)), ...impersonate };
  if (user.username !== undefined) {
    return { basicAuth: { username: user.username, password: user.password ?? '' }, ...impersonate };
  }
  return impersonate;
}

/** The client that a kubeconfig describes. */
export async function createKubeconfigClient(
  deps: KubeconfigDeps,
  path: string,
  contextName?: string,
): Promise<Client> {
  return createRestClient(await loadKubeconfig(deps, path, contextName));
}

const CERTIFICATE_REREAD_MS = 60_000;

/** Certificates in files are rotated by others: read again every minute; what cannot be read leaves the last ones in use. */
function rereadTls(
  { clock }: KubeconfigDeps,
  first: TlsOptions,
  read: () => Promise<TlsOptions>,
): () => Promise<TlsOptions> {
  let [tls, atMs] = [first, clock.monotonicMs()];
  return async () => {
    if (clock.monotonicMs() - atMs < CERTIFICATE_REREAD_MS) return tls;
    atMs = clock.monotonicMs();
    tls = await read().catch(() => tls);
    return tls;
  };
}

const TOKEN_REREAD_MS = 60_000;

/** A token kept in a file that others rotate: read again every minute, as upstream does. */
function createFileTokenSource(
  deps: { readonly files: Pick<Files, 'readText'>; readonly clock: Clock },
  path: string,
): TokenSource {
  let cached: { readonly token: string; readonly atMs: number } | undefined;
  return {
    async token() {
      const nowMs = deps.clock.monotonicMs();
      if (cached === undefined || nowMs - cached.atMs >= TOKEN_REREAD_MS) {
        const token = (await deps.files.readText(path)).trim();
        if (token === '') throw new KubeconfigError(`token file ${path} is empty`);
        cached = { token, atMs: nowMs };
      }
      return cached.token;
    },
    invalidate() {
      cached = undefined;
    },
  };
}

function absolutePath(folder: string, path: string): string {
  return path.startsWith('/') || folder === '' ? path : `${folder}/${path}`;
}
