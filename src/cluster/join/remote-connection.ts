/**
 * A node's connection to a control plane on another machine: its own client certificate, got with the bootstrap token at
 * the first start and renewed by itself afterwards, and a serving certificate that the control plane signs once the node
 * has registered. Upstream: the kubelet's TLS bootstrapping, --rotate-certificates and serverTLSBootstrap.
 */
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { measuredNet } from '../../client/measured-net.ts';
import { createRestClient } from '../../client/rest-client.ts';
import type { CertificateManager } from '../../component-helpers/pki/certificate-manager.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';
import { kubeconfigJson } from '../kubeconfig.ts';
import type { NodeConnection } from '../node/node-connection.ts';
import { createNodeCertificate } from '../node/node-certificate.ts';
import { PreflightError } from '../preflight-error.ts';

/** Whom to trust and how to begin. */
export interface RemoteConnectionConfig {
  readonly instance: Instance;
  readonly server: string;
  readonly caPem: string;
  /** `<id>.<secret>`; needed while there is no client certificate. */
  readonly bootstrapToken?: string;
  /** Addresses of this node, for its serving certificate. */
  readonly nodeIps: readonly string[];
}

/** The connection and what keeps it. */
export interface RemoteConnection extends NodeConnection {
  /** Loads or gets the client certificate. Rejects with `PreflightError` when there is none and no token that is taken. */
  open(signal: AbortSignal): Promise<void>;
  /** Renews certificates until the signal aborts. */
  keep(signal: AbortSignal): Promise<void>;
}

/** Makes the connection; nothing is sent before `open`. */
export function createRemoteConnection(platform: Platform, config: RemoteConnectionConfig): RemoteConnection {
  const { server, caPem, instance, bootstrapToken } = config;
  const bases = { net: measuredNet(platform.net, platform), clock: platform.clock, server };
  const stranger =
    bootstrapToken === undefined
      ? undefined
      : createRestClient({ ...bases, tls: { caPem }, token: bootstrapToken, userAgent: 'keelson-agent' });
  const clientFor = (userAgent: string): Client =>
    createRestClient({
      ...bases,
      userAgent,
      tlsSource: () => Promise.resolve({ caPem, ...clientCertificate.current() }),
    });
  const kubelet = clientFor('kubelet');
  const own = { nodeName: instance.nodeName, dir: instance.pkiDir, nodeIps: () => config.nodeIps };
  const clientCertificate: CertificateManager = createNodeCertificate(
    platform,
    { ...own, kind: 'kubelet-client', isRefusal: (error) => isReason(error, 'Unauthorized') },
    () => (clientCertificate.current() === undefined ? (stranger ?? kubelet) : kubelet),
  );
  const serving = createNodeCertificate(platform, { ...own, kind: 'kubelet-server' }, () => kubelet);
  return {
    kubelet,
    proxy: clientFor('kube-proxy'),
    server,
    caPem,
    async open(signal) {
      const isKept = await clientCertificate.load();
      const joined = await platform.files.exists(clientCertificate.file);
      const why = joined ? 'this machine’s certificate is over' : 'this machine has not joined yet';
      if (!isKept && stranger === undefined)
        throw new PreflightError(`${why}; --token is needed (keelson token create, on a server)`);
      await clientCertificate.ensure(signal).catch((error: unknown) => {
        if (!isReason(error, 'Unauthorized')) throw error;
        const refused = 'the servers refuse the token, which is over or unknown';
        throw new PreflightError(`${why}, and ${refused}; a new --token is needed (keelson token create, on a server)`);
      });
    },
    keep: async (signal) => {
      await Promise.all([clientCertificate.keep(signal), keepServing(serving, signal)]);
    },
    servingCertificate: (signal) => serving.ensure(signal),
    clientCertificate: () => Promise.resolve(clientCertificate.current()),
    onServingCertificate: (listener) => serving.onRenewed(listener),
    async writeDnsKubeconfig(path) {
      const pairFile = clientCertificate.file;
      const text = kubeconfigJson({ server, caPem, pairFile, user: instance.nodeName, cluster: 'keelson' });
      await platform.files.writeFileAtomic(path, text, { mode: 0o600 });
    },
  };
}

/** Renewing begins when there is something to renew. */
async function keepServing(serving: CertificateManager, signal: AbortSignal): Promise<void> {
  await serving.ensure(signal).catch(() => undefined); // Ends with the signal alone.
  await serving.keep(signal);
}
