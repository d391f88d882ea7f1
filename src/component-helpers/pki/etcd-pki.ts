/**
 * The certificates of a server's own etcd member: an authority for etcd alone, by which members authenticate each
 * other and the API server. Whoever holds one of its certificates can read and write everything. File names are
 * kubeadm's.
 */
import type { Files } from '../../platform/files.ts';
import type { CertificateDeps, KeyPairPem } from './certificates.ts';
import { authority, closePkiFolder, leafCertificate, openPkiFolder } from './pki-folder.ts';

const LEAF_MS = 365 * 86_400_000;

/** Only what the API server needs; members read the files themselves. */
export interface EtcdPki {
  readonly ca: KeyPairPem;
  /** The API server's client certificate for etcd. */
  readonly client: KeyPairPem;
}

/** Loads `ca`, `server`, `peer` and `client` under `dir`, creating those that are missing. */
export async function ensureEtcdPki(
  files: Files,
  deps: CertificateDeps,
  { dir, name, ipAddresses }: { dir: string; name: string; ipAddresses: readonly string[] },
): Promise<EtcdPki> {
  const folder = await openPkiFolder(files, deps, dir);
  const ca = await authority(folder, 'ca', 'etcd-ca');
  // A member is the client of others, and its gateway of itself.
  const member = {
    commonName: name,
    dnsNames: ['localhost'],
    ipAddresses,
    usages: ['server', 'client'] as const,
    validityMs: LEAF_MS,
  };
  const api = { commonName: 'kube-apiserver-etcd-client', usages: ['client'] as const, validityMs: LEAF_MS };
  const [, , client] = await Promise.all([
    leafCertificate(folder, ca, { name: 'server', spec: member }),
    leafCertificate(folder, ca, { name: 'peer', spec: member }),
    leafCertificate(folder, ca, { name: 'client', spec: api }),
  ]);
  await closePkiFolder(folder);
  return { ca, client };
}
