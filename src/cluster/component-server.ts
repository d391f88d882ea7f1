/**
 * The HTTPS server of a component that runs alone: health for everybody, metrics for whom the API server lets. Upstream:
 * SecureServingOptions with DelegatingAuthenticationOptions and DelegatingAuthorizationOptions.
 */
import { ConfigMaps, SubjectAccessReviews } from '../api/gen/resources.ts';
import type { Principal } from '../api/transport.ts';
import { Lru } from '../base/lru.ts';
import type { Client } from '../client/client.ts';
import { createAuthority, issueCertificate, type KeyPairPem } from '../component-helpers/pki/certificates.ts';
import type { TlsServingOptions } from '../component-helpers/command-line/tls-options.ts';
import { createDelegatedAuth } from '../kubelet/server/delegated-auth.ts';
import type { HttpHandler, HttpRequest, HttpResponse, HttpServer } from '../platform/http.ts';
import type { Platform } from '../platform/platform.ts';

/** Who may read what. */
export interface ComponentAccess {
  readonly alwaysAllowPaths: readonly string[];
  readonly skipsLookup: boolean;
  readonly tokenTtlMs: number;
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
  /** Asked about tokens. */
  readonly authentication?: Client;
  /** Asked about rights. */
  readonly authorization?: Client;
}

/** What serving takes. */
export interface ComponentServerDeps {
  readonly platform: Pick<Platform, 'listenHttp' | 'files' | 'crypto' | 'random' | 'clock' | 'log' | 'host'>;
  /** `kube-scheduler`: names the certificate that is made where none is given. */
  readonly name: string;
  readonly handler: HttpHandler;
}

const YEAR_MS = 365 * 86_400_000;

/** Opens it. Rejects for files that cannot be read, and ports that are taken. */
export async function openComponentServer(
  deps: ComponentServerDeps,
  serving: TlsServingOptions,
  access: ComponentAccess,
): Promise<HttpServer> {
  const { platform, handler } = deps;
  const clientCaPem = await clientAuthority(platform, serving, access);
  const sni = await Promise.all(
    serving.sniCertificates.map(async ({ certFile, keyFile, names }) => ({
      certPem: await platform.files.readText(certFile),
      keyPem: await platform.files.readText(keyFile),
      names,
    })),
  );
  return platform.listenHttp(
    {
      host: serving.bindAddress,
      port: serving.securePort,
      sharesPort: serving.sharesPort,
      tls: {
        ...(await certificate(deps, serving)),
        sni,
        http2: serving.http2,
        minVersion: serving.tlsMinVersion,
        ...(serving.http2MaxStreams && { http2MaxStreams: serving.http2MaxStreams }),
        ...(serving.tlsCiphers && { ciphers: serving.tlsCiphers }),
        ...(clientCaPem !== undefined && { clientCaPem }),
      },
    },
    guarded(handler, platform, access),
  );
}

/** The file's, or the cluster's own. Who cannot be looked up vouches for nobody. */
async function clientAuthority(
  { files, log }: ComponentServerDeps['platform'],
  { clientCaFile }: TlsServingOptions,
  { authentication, skipsLookup }: ComponentAccess,
): Promise<string | undefined> {
  if (clientCaFile !== undefined) return files.readText(clientCaFile);
  if (authentication === undefined || skipsLookup) return undefined;
  const key = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
  try {
    return (await authentication.resource(ConfigMaps).get(key)).data?.['client-ca-file'];
  } catch (err) {
    log.warn('Unable to get the authorities of clients from the cluster; client certificates count for nothing', {
      err,
    });
    return undefined;
  }
}

/** The one of the files, or one of our own, kept where a folder is given. */
async function certificate(
  { platform, name }: ComponentServerDeps,
  { tlsCertFile, tlsKeyFile, certDir }: TlsServingOptions,
): Promise<KeyPairPem> {
  const { files, crypto, random, clock, host } = platform;
  const kept = certDir === '' ? undefined : { cert: `${certDir}/${name}.crt`, key: `${certDir}/${name}.key` };
  const certFile = tlsCertFile ?? kept?.cert;
  const keyFile = tlsKeyFile ?? kept?.key;
  const there =
    tlsCertFile !== undefined ||
    (kept !== undefined && (await files.exists(kept.cert)) && (await files.exists(kept.key)));
  if (there && certFile !== undefined && keyFile !== undefined)
    return { certPem: await files.readText(certFile), keyPem: await files.readText(keyFile) };
  const making = { crypto, random, nowMs: () => clock.nowMs() };
  const { hostname } = await host.info();
  const authority = await createAuthority(making, `${hostname}-ca`, YEAR_MS);
  const leaf = await issueCertificate(making, authority, {
    commonName: hostname,
    dnsNames: [hostname, 'localhost'],
    ipAddresses: ['127.0.0.1'],
    usages: ['server'],
    validityMs: YEAR_MS,
  });
  const pair = { certPem: leaf.certPem + authority.certPem, keyPem: leaf.keyPem };
  if (kept === undefined) return pair;
  await files.makeDir(certDir, { mode: 0o755 });
  await files.writeFileAtomic(kept.cert, pair.certPem, { mode: 0o644 });
  await files.writeFileAtomic(kept.key, pair.keyPem, { mode: 0o600 });
  return pair;
}

const cacheSize = 256;

/** Asks who it is and whether they may, as upstream: who may not is told so, by name. */
function guarded(
  handler: HttpHandler,
  platform: ComponentServerDeps['platform'],
  access: ComponentAccess,
): HttpHandler {
  const { authentication, authorization } = access;
  const { tokenTtlMs } = access;
  const who = createDelegatedAuth(
    { client: authentication as Client, platform },
    {
      nodeName: '',
      anonymous: true,
      tokenWebhook: authentication !== undefined,
      authorizationMode: 'AlwaysAllow',
      tokenTtlMs,
    },
  );
  const may = authorization === undefined ? async () => false : reviewed(authorization, platform, access);
  return async (request) => {
    if (access.alwaysAllowPaths.some((allowed) => covers(allowed, request.path))) return handler(request);
    const principal = await who.authenticate(request).catch(() => undefined);
    if (principal === undefined) return text(401, 'Unauthorized');
    const allowed = principal.groups.includes('system:masters') || (await may(principal, request).catch(() => false));
    const { path, method } = request;
    if (!allowed)
      return text(
        403,
        `User ${JSON.stringify(principal.name)} cannot ${method.toLowerCase()} path ${JSON.stringify(path)}`,
      );
    return handler(request);
  };
}

const covers = (allowed: string, path: string): boolean =>
  allowed.endsWith('*') ? path.startsWith(allowed.slice(0, -1)) : path === allowed;

type May = (principal: Principal, request: HttpRequest) => Promise<boolean>;

function reviewed(client: Client, { clock }: ComponentServerDeps['platform'], access: ComponentAccess): May {
  const kept = new Lru<string, { readonly allowed: boolean; readonly untilMs: number }>(cacheSize);
  return async ({ name: user, groups, uid, extra }, { method, path }) => {
    const nonResourceAttributes = { verb: method.toLowerCase(), path };
    const key = JSON.stringify([user, groups, uid, extra, nonResourceAttributes]);
    const known = kept.get(key);
    if (known !== undefined && clock.monotonicMs() < known.untilMs) return known.allowed;
    const spec = {
      user,
      groups: [...groups],
      nonResourceAttributes,
      ...(uid !== undefined && { uid }),
      ...(extra !== undefined && {
        extra: Object.fromEntries(Object.entries(extra).map(([at, values]) => [at, [...values]])),
      }),
    };
    const { status } = await client.resource(SubjectAccessReviews).create({ metadata: {}, spec });
    const allowed = status?.allowed === true;
    kept.set(key, { allowed, untilMs: clock.monotonicMs() + (allowed ? access.allowedTtlMs : access.deniedTtlMs) });
    return allowed;
  };
}

function text(status: number, body: string): HttpResponse {
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  return { kind: 'bytes', status, headers, chunks: [Buffer.from(`${body}\n`)] };
}
