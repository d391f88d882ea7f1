// Parses a kubeconfig with certificates.
import { parse } from 'yaml';

interface Kubeconfig {
  readonly clusters: readonly { cluster: { server: string; 'certificate-authority-data': string } }[];
  readonly users: readonly { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

/** The server's address, and the certificates for it. */
export function kubeconfigOf(text: string): { server: string; tls: { ca: Buffer; cert: Buffer; key: Buffer } } {
  const config = parse(text) as Kubeconfig;
  const { cluster } = config.clusters[0]!;
  const { user } = config.users[0]!;
  const decoded = (data: string): Buffer => Buffer.from(data, 'base64');
  return {
    server: cluster.server,
    tls: {
      ca: decoded(cluster['certificate-authority-data']),
      cert: decoded(user['client-certificate-data']),
      key: decoded(user['client-key-data']),
    },
  };
}
