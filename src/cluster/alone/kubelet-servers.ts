/**
 * The servers of a standalone kubelet: HTTPS for the API server, plain HTTP for health on loopback, and the read-only
 * port if configured. Serving certificates come from files, from the API server, or are self-signed.
 */
import type { Client } from '../../client/client.ts';
import { createAuthority, issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import { openSslCipher, TLS_VERSIONS } from '../../component-helpers/tls-names.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { HttpServer, ListenOptions } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { openPlainServers } from '../node/kubelet-plain-servers.ts';
import { handlerSettings, openKubeletServer } from '../node/kubelet-server.ts';
import { createNodeCertificate } from '../node/node-certificate.ts';
import type { ClusterNode } from '../node/node.ts';
import { clientAuthority, followServingFiles, servedIdentity, type ServedIdentity } from './serving-files.ts';
import { appendAll } from '../../base/lists.ts';

export interface KubeletServersDeps {
  readonly platform: Platform;
  readonly client: Client;
  readonly node: ClusterNode;
  readonly certDir: string;
  readonly hasApiServer: boolean;
}

export interface KubeletServers {
  stop(): Promise<void>;
}

const YEAR_MS = 365 * 86_400_000;
const CLOSE_GRACE_MS = 500;

/** Opens the servers that the configuration enables. */
export async function startKubeletServers(
  deps: KubeletServersDeps,
  config: KubeletConfigurationV1Beta1,
  signal: AbortSignal,
): Promise<KubeletServers> {
  const { platform, node } = deps;
  const servers: HttpServer[] = [];
  if (config.enableServer) servers.push(await openMainServer(deps, config, signal));
  appendAll(servers, await openPlainServers({ platform, node }, config));
  return {
    stop: async () => {
      await Promise.all(servers.map((server) => server.close(CLOSE_GRACE_MS)));
    },
  };
}

async function openMainServer(
  deps: KubeletServersDeps,
  config: KubeletConfigurationV1Beta1,
  signal: AbortSignal,
): Promise<HttpServer> {
  const { platform, client, node } = deps;
  const { clientCAFile } = config.authentication.x509;
  const clientCa = clientCAFile === '' ? {} : { clientCaPem: await clientAuthority(platform, clientCAFile) };
  const pair = await servingCertificate(deps, config);
  const server = await openKubeletServer(
    {
      platform,
      client,
      config: node.config,
      port: config.port,
      address: config.address,
      tls: { ...pair, ...clientCa, ...tlsChoices(config) },
      access: access(config),
      ...handlerSettings(config),
    },
    node,
  );
  const initial = { pair, ...clientCa };
  const identity = servedIdentity(server, initial);
  const requested = config.serverTLSBootstrap && deps.hasApiServer;
  const hasFiles = !requested && config.tlsCertFile !== '' && config.tlsPrivateKeyFile !== '';
  const paths = {
    certFile: hasFiles ? config.tlsCertFile : '',
    keyFile: hasFiles ? config.tlsPrivateKeyFile : '',
    clientCaFile: clientCAFile,
  };
  followServingFiles(platform, { paths, identity, initial }, signal);
  if (requested) requestServingCertificate(deps, identity, signal);
  return server;
}

function tlsChoices({
  tlsMinVersion,
  tlsCipherSuites,
}: KubeletConfigurationV1Beta1): Pick<NonNullable<ListenOptions['tls']>, 'minVersion' | 'ciphers'> {
  const minVersion = TLS_VERSIONS[tlsMinVersion];
  const ciphers = tlsCipherSuites.flatMap((name) => openSslCipher(name) ?? []);
  return { minVersion: minVersion || undefined, ciphers: ciphers.length > 0 ? ciphers : undefined };
}

function access(config: KubeletConfigurationV1Beta1): NonNullable<Parameters<typeof openKubeletServer>[0]['access']> {
  const { authentication, authorization } = config;
  return {
    anonymous: authentication.anonymous.enabled,
    tokenWebhook: authentication.webhook.enabled,
    tokenTtlMs: parseDurationMs(authentication.webhook.cacheTTL) ?? 0,
    authorizationMode: authorization.mode === 'AlwaysAllow' ? 'AlwaysAllow' : 'Webhook',
    allowedTtlMs: parseDurationMs(authorization.webhook.cacheAuthorizedTTL) ?? 0,
    deniedTtlMs: parseDurationMs(authorization.webhook.cacheUnauthorizedTTL) ?? 0,
  };
}

/** The serving certificate: configured, kept from an earlier start, or self-signed now. */
async function servingCertificate(
  { platform, node, certDir }: KubeletServersDeps,
  config: KubeletConfigurationV1Beta1,
): Promise<KeyPairPem> {
  const { files } = platform;
  const hasFiles = config.tlsCertFile !== '' && config.tlsPrivateKeyFile !== '';
  const certFile = hasFiles ? config.tlsCertFile : `${certDir}/kubelet.crt`;
  const keyFile = hasFiles ? config.tlsPrivateKeyFile : `${certDir}/kubelet.key`;
  if (hasFiles || ((await files.exists(certFile)) && (await files.exists(keyFile))))
    return { certPem: await files.readText(certFile), keyPem: await files.readText(keyFile) };
  const made = await selfSigned(platform, node);
  await files.makeDir(certDir, { mode: 0o755 });
  await files.writeFileAtomic(keyFile, made.keyPem, { mode: 0o600 });
  await files.writeFileAtomic(certFile, made.certPem, { mode: 0o644 });
  return made;
}

async function selfSigned({ crypto, random, clock }: Platform, node: ClusterNode): Promise<KeyPairPem> {
  const deps = { crypto, random, nowMs: () => clock.nowMs() };
  const { nodeName } = node.config;
  const ca = await createAuthority(deps, `${nodeName}-ca@${Math.floor(clock.nowMs() / 1000)}`, YEAR_MS);
  const leaf = await issueCertificate(deps, ca, {
    commonName: `${nodeName}@${Math.floor(clock.nowMs() / 1000)}`,
    dnsNames: [nodeName],
    ipAddresses: [...node.kubelet.core.nodeIps()],
    usages: ['server'],
    validityMs: YEAR_MS,
  });
  return { certPem: `${leaf.certPem}${ca.certPem}`, keyPem: leaf.keyPem };
}

/** Replaces the certificate each time the API server signs a new one. */
function requestServingCertificate(
  { platform, client, node, certDir }: KubeletServersDeps,
  identity: ServedIdentity,
  signal: AbortSignal,
): void {
  const { nodeName } = node.config;
  const manager = createNodeCertificate(
    platform,
    { kind: 'kubelet-server', nodeName, dir: certDir, nodeIps: () => node.kubelet.core.nodeIps() },
    () => client,
  );
  manager.onRenewed(identity.setPair);
  const begin = async (): Promise<void> => {
    identity.setPair(await manager.ensure(signal));
    await manager.keep(signal);
  };
  begin().catch(() => undefined); // rejects only by the signal
}
