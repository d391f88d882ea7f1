/**
 * The certificates and keys of one control plane on disk: created at the first start, reused while they match and
 * have more than a third of their lifetime left, recreated otherwise (except the authorities and the token key, which
 * others trust). A stamp file records what each was created for, so that a later start only reads files. File names
 * are kubeadm's. Keys are 0600.
 */
import type { Files } from '../../platform/files.ts';
import { pemText, type CertificateDeps, type CertificateRequestSpec, type KeyPairPem } from './certificates.ts';
import { authority, closePkiFolder, leafCertificate, openPkiFolder, type PkiFolder, writeLater } from './pki-folder.ts';

const LEAF_MS = 365 * 86_400_000;

/**
 * The group in the API server's client certificate for kubelets: only the role `keelson:kubelet-client` is bound to
 * it.
 */
export const KUBELET_CLIENTS = 'keelson:kubelet-clients';

/** Names and addresses the serving certificates carry. */
export interface PkiNames {
  readonly nodeName: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface ClusterPki {
  readonly ca: KeyPairPem;
  readonly apiServer: KeyPairPem;
  /** The API server's client certificate for kubelets. */
  readonly kubeletClient: KeyPairPem;
  /** The kubelet's serving certificate. */
  readonly kubeletServer: KeyPairPem;
  /** The administrator: system:masters. */
  readonly admin: KeyPairPem;
  /** The API server's client certificate for aggregated API servers, and the authority they verify it by. */
  readonly frontProxy: KeyPairPem & { readonly caPem: string };
  /** Signs service-account tokens: PKCS#8 and SPKI. */
  readonly serviceAccount: { readonly privateKeyPem: string; readonly publicKeyPem: string };
}

/**
 * Loads the certificates under `dir`, creating those that are missing, outdated or made for other names. Resolves
 * when all are on disk; `onMade` is called when they are created and only the disk is awaited, and not when creating
 * them fails.
 */
export async function ensureClusterPki(
  files: Files,
  deps: CertificateDeps,
  options: { dir: string; names: PkiNames; onMade?: () => void },
): Promise<ClusterPki> {
  const { dir, names, onMade } = options;
  const folder = await openPkiFolder(files, deps, dir);
  const ca = await authority(folder, 'ca', 'kubernetes');
  const leaf = (name: string, spec: Omit<CertificateRequestSpec, 'validityMs'>): Promise<KeyPairPem> =>
    leafCertificate(folder, ca, { name, spec: { ...spec, validityMs: LEAF_MS } });
  const serving = { dnsNames: names.dnsNames, ipAddresses: names.ipAddresses };
  // Each needs a key and a signature, so they are created concurrently.
  const [apiServer, kubeletClient, kubeletServer, admin, frontProxy, serviceAccount] = await Promise.all([
    leaf('apiserver', { commonName: 'kube-apiserver', ...serving, usages: ['server'] }),
    leaf('apiserver-kubelet-client', {
      commonName: 'kube-apiserver-kubelet-client',
      organizations: [KUBELET_CLIENTS],
      usages: ['client'],
    }),
    leaf('kubelet', {
      commonName: `system:node:${names.nodeName}`,
      organizations: ['system:nodes'],
      ...serving,
      usages: ['server'],
    }),
    leaf('admin', { commonName: 'kubernetes-admin', organizations: ['system:masters'], usages: ['client'] }),
    frontProxyPair(folder),
    tokenKey(folder),
  ]);
  onMade?.();
  await closePkiFolder(folder);
  return { ca, apiServer, kubeletClient, kubeletServer, admin, frontProxy, serviceAccount };
}

/** The front proxy has an authority of its own: a client with its certificate can act as any user. */
async function frontProxyPair(folder: PkiFolder): Promise<ClusterPki['frontProxy']> {
  const ca = await authority(folder, 'front-proxy-ca', 'front-proxy-ca');
  const spec = { commonName: 'front-proxy-client', usages: ['client'] as const, validityMs: LEAF_MS };
  const pair = await leafCertificate(folder, ca, { name: 'front-proxy-client', spec });
  return { ...pair, caPem: ca.certPem };
}

async function tokenKey(folder: PkiFolder): Promise<ClusterPki['serviceAccount']> {
  const { files, dir, deps } = folder;
  const [privatePath, publicPath] = [`${dir}/sa.key`, `${dir}/sa.pub`];
  if ((await files.exists(privatePath)) && (await files.exists(publicPath))) {
    return { privateKeyPem: await files.readText(privatePath), publicKeyPem: await files.readText(publicPath) };
  }
  const key = await createTokenKey(deps);
  writeLater(folder, { name: 'sa.key', text: key.privateKeyPem, mode: 0o600 });
  writeLater(folder, { name: 'sa.pub', text: key.publicKeyPem, mode: 0o644 });
  return key;
}

/** A new key that signs service-account tokens. */
export async function createTokenKey({
  crypto,
}: Pick<CertificateDeps, 'crypto'>): Promise<ClusterPki['serviceAccount']> {
  const { subtle } = crypto.webcrypto;
  const pair = (await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])) as {
    publicKey: never;
    privateKey: never;
  };
  return {
    privateKeyPem: pemText('PRIVATE KEY', new Uint8Array(await subtle.exportKey('pkcs8', pair.privateKey))),
    publicKeyPem: pemText('PUBLIC KEY', new Uint8Array(await subtle.exportKey('spki', pair.publicKey))),
  };
}
