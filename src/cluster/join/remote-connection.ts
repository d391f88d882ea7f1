/**
 * A node's connection to a control plane on another machine: a client certificate, requested with the bootstrap token
 * at the first start and then renewed automatically, and a serving certificate that the control plane signs after the
 * node has registered. Upstream: the kubelet's TLS bootstrapping, --rotate-certificates and serverTLSBootstrap.
 */
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { endingNet } from '../../client/ending-net.ts';
import { measuredNet } from '../../client/measured-net.ts';
import { createRestClient } from '../../client/rest-client.ts';
import type { CertificateManager } from '../../component-helpers/pki/certificate-manager.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';
import { kubeconfigJson } from '../kubeconfig.ts';
import type { NodeConnection } from '../node/node-connection.ts';
import { createNodeCertificate } from '../node/node-certificate.ts';
import { PreflightError } from '../preflight-error.ts';

/** The trusted authority and the initial credentials. */
export interface RemoteConnectionConfig {
  readonly instance: Instance;
  readonly server: string;
  readonly caPem: string;
  /** `<id>.<secret>`; needed without a client certificate. */
  readonly bootstrapToken?: string;
  /** Addresses of this node, for its serving certificate. */
  readonly nodeIps: readonly string[];
}

/** The connection, and the renewal of its certificates. */
export interface RemoteConnection extends NodeConnection {
  /** Loads or requests the client certificate. Rejects with `PreflightError` when there is none and no valid token. */
  open(signal: AbortSignal): Promise<void>;
  /** Renews certificates until the signal aborts. */
  keep(signal: AbortSignal): Promise<void>;
}

/** Nothing is sent before `open`, and nothing waits after the signal's abort. */
export function createRemoteConnection(
  platform: Platform,
  config: RemoteConnectionConfig,
  signal: AbortSignal,
): RemoteConnection {
  const { server, caPem, instance, bootstrapToken } = config;
  const connection = { net: endingNet(measuredNet(platform.net, platform), signal), clock: platform.clock, server };
  const bootstrapClient =
    bootstrapToken === undefined
      ? undefined
      : createRestClient({ ...connection, tls: { caPem }, token: bootstrapToken, userAgent: 'keelson-agent' });
  const clientFor = (userAgent: string): Client =>
    createRestClient({
      ...connection,
      userAgent,
      tlsSource: () => Promise.resolve({ caPem, ...clientCertificate.current() }),
    });
  const kubelet = clientFor('kubelet');
  const certificateConfig = { nodeName: instance.nodeName, dir: instance.pkiDir, nodeIps: () => config.nodeIps };
  const clientCertificate: CertificateManager = createNodeCertificate(
    platform,
    { ...certificateConfig, kind: 'kubelet-client', isRefusal: (error) => isReason(error, 'Unauthorized') },
    () => (clientCertificate.current() === undefined ? (bootstrapClient ?? kubelet) : kubelet),
  );
  const serving = createNodeCertificate(platform, { ...certificateConfig, kind: 'kubelet-server' }, () => kubelet);
  return {
    kubelet,
    proxy: clientFor('kube-proxy'),
    server,
    caPem,
    async open(openSignal) {
      const isLoaded = await clientCertificate.load();
      const joined = await platform.files.exists(clientCertificate.file);
      const why = joined ? 'this machine’s certificate is over' : 'this machine has not joined yet';
      if (!isLoaded && bootstrapClient === undefined)
        throw new PreflightError(`${why}; --token is needed (keelson token create, on a server)`);
      await clientCertificate.ensure(openSignal).catch((error: unknown) => {
        if (!isReason(error, 'Unauthorized')) throw error;
        const refused = 'the servers refuse the token, which is over or unknown';
        throw new PreflightError(`${why}, and ${refused}; a new --token is needed (keelson token create, on a server)`);
      });
    },
    keep: async (keepSignal) => {
      await Promise.all([clientCertificate.keep(keepSignal), keepServing(serving, keepSignal)]);
    },
    servingCertificate: (waiting) => serving.ensure(waiting),
    clientCertificate: () => Promise.resolve(clientCertificate.current()),
    onServingCertificate: (listener) => serving.onRenewed(listener),
    async writeDnsKubeconfig(path) {
      const pairFile = clientCertificate.file;
      const text = kubeconfigJson({ server, caPem, pairFile, user: instance.nodeName, cluster: 'keelson' });
      await platform.files.writeFileAtomic(path, text, { mode: 0o600 });
    },
  };
}

/** Renews the serving certificate once there is one. */
async function keepServing(serving: CertificateManager, signal: AbortSignal): Promise<void> {
  await serving.ensure(signal).catch(() => undefined); // rejects only by the signal
  await serving.keep(signal);
}
