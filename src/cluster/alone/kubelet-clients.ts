/**
 * The API clients of a standalone kubelet: one for its work, one for heartbeats, one for events, each with its own
 * limits, all with the same credentials. Credentials come from a kubeconfig or from TLS bootstrapping, and are
 * renewed. Upstream: buildKubeletClientConfig, kubeClientConfigOverrides and bootstrap.LoadClientConfig in
 * cmd/kubelet/app.
 */
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { endingNet } from '../../client/ending-net.ts';
import { measuredNet } from '../../client/measured-net.ts';
import { rateLimitedNet } from '../../client/rate-limited-net.ts';
import { createRestClient, type RestClientDeps } from '../../client/rest-client.ts';
import type { Client } from '../../client/client.ts';
import type { CertificateManager } from '../../component-helpers/pki/certificate-manager.ts';
import type { KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import type { TlsOptions } from '../../platform/net.ts';
import type { Platform } from '../../platform/platform.ts';
import { createNodeCertificate } from '../node/node-certificate.ts';
import { background } from '../../platform/unexpected.ts';

export interface KubeletClients {
  readonly client: Client;
  readonly heartbeatClient: Client;
  readonly eventClient: Client;
  /** Renews the credentials until the signal aborts. */
  start(signal: AbortSignal): void;
}

export interface KubeletCredentials {
  readonly kubeconfig: string;
  /** Used to request a certificate while `kubeconfig` does not exist. */
  readonly bootstrapKubeconfig?: string;
  readonly certDir: string;
  readonly nodeName: string;
}

const USER_AGENT = 'kubelet';

/**
 * Creates the clients, which do not wait any more after the signal's abort. Without credentials a certificate is
 * requested first.
 */
export async function createKubeletClients(
  platform: Platform,
  { config, signal, ...credentials }: KubeletCredentials & { config: KubeletConfigurationV1Beta1; signal: AbortSignal },
): Promise<KubeletClients> {
  const { files, log } = platform;
  const { kubeconfig, bootstrapKubeconfig } = credentials;
  const bootstrapping = bootstrapKubeconfig !== undefined && !(await files.exists(kubeconfig));
  const source = bootstrapping ? bootstrapKubeconfig : kubeconfig;
  const deps = await loadKubeconfig(
    { ...platform, net: endingNet(measuredNet(platform.net, platform), signal), userAgent: USER_AGENT },
    source,
  );
  const manager = clientCertificate(platform, credentials, {
    deps,
    configured: bootstrapping ? undefined : pairOf(deps.tls),
  });
  if (bootstrapping) {
    if (!(await manager.load()))
      log.info('Using bootstrap kubeconfig to generate TLS client cert, key and kubeconfig file');
    await manager.ensure(signal);
    await files.writeFileAtomic(kubeconfig, kubeconfigWithFile(deps, credentials), { mode: 0o600 });
  } else if (config.rotateCertificates) await manager.load();
  const identified = withCertificate(deps, manager);
  return {
    ...threeClients(platform, identified, config),
    start(until) {
      if (config.rotateCertificates && manager.current() !== undefined)
        background(log, 'the client certificate is kept no more', manager.keep(until)); // never rejects
    },
  };
}

function threeClients(
  { clock }: Platform,
  deps: RestClientDeps,
  config: KubeletConfigurationV1Beta1,
): Pick<KubeletClients, 'client' | 'heartbeatClient' | 'eventClient'> {
  const limited = (perSecond: number, burst: number): RestClientDeps =>
    withNet(deps, rateLimitedNet(deps.net, clock, { perSecond, burst }));
  return {
    client: createRestClient(limited(config.kubeAPIQPS, config.kubeAPIBurst)),
    heartbeatClient: createRestClient(withTimeout(deps, config.nodeLeaseDurationSeconds * 1000)),
    eventClient: createRestClient(limited(config.eventRecordQPS, config.eventBurst)),
  };
}

// The credentials are getters, which a spread would read once.
function withNet(deps: RestClientDeps, net: RestClientDeps['net']): RestClientDeps {
  return Object.create(deps, { net: { value: net } }) as RestClientDeps;
}

function withTimeout(deps: RestClientDeps, timeoutMs: number): RestClientDeps {
  return Object.create(deps, { timeoutMs: { value: timeoutMs } }) as RestClientDeps;
}

/** The current certificate takes precedence over the file's. */
function withCertificate(deps: RestClientDeps, manager: CertificateManager): RestClientDeps {
  let last: { readonly pair: KeyPairPem; readonly tls: TlsOptions } | undefined;
  const tls = (): TlsOptions | undefined => {
    const pair = manager.current();
    if (pair === undefined) return deps.tls;
    if (last?.pair !== pair) last = { pair, tls: { ...deps.tls, ...pair } };
    return last.tls;
  };
  const { token: _token, tokenSource: _source, basicAuth: _basic, tls: _tls, ...rest } = deps;
  const plain = manager.current() === undefined ? deps : rest;
  return Object.defineProperty({ ...plain }, 'tls', { get: tls, enumerable: true }) as RestClientDeps;
}

function clientCertificate(
  platform: Platform,
  { certDir, nodeName }: KubeletCredentials,
  { deps, configured: keyPair }: { readonly deps: RestClientDeps; readonly configured: KeyPairPem | undefined },
): CertificateManager {
  const manager: CertificateManager = createNodeCertificate(
    platform,
    { kind: 'kubelet-client', nodeName, dir: certDir, configured: keyPair },
    () => createRestClient(manager.current() === undefined ? deps : withCertificate(deps, manager)),
  );
  return manager;
}

function pairOf(tls: TlsOptions | undefined): KeyPairPem | undefined {
  if (tls?.certPem === undefined || tls.keyPem === undefined) return undefined;
  return { certPem: tls.certPem, keyPem: tls.keyPem };
}

/** The kubeconfig for later starts: as upstream's, it names the file of the certificate manager. */
function kubeconfigWithFile({ server, tls }: RestClientDeps, { certDir }: KubeletCredentials): string {
  const pem = `${certDir}/kubelet-client-current.pem`;
  const ca = tls?.caPem === undefined ? '' : Buffer.from(tls.caPem).toString('base64');
  return `apiVersion: v1
kind: Config
clusters:
- name: default-cluster
  cluster:
    server: ${server}
${ca === '' ? '' : `    certificate-authority-data: ${ca}\n`}users:
- name: default-auth
  user:
    client-certificate: ${pem}
    client-key: ${pem}
contexts:
- name: default-context
  context:
    cluster: default-cluster
    namespace: default
    user: default-auth
current-context: default-context
`;
}
