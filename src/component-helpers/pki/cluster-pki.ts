/**
 * The certificates and keys of one control plane on disk: made at the first start, reused while they fit and have more
 * than a third of their life left, made anew otherwise (never the authority or the token key, which others trust).
 * A stamp beside them records what each was made for, so that a later start reads files only and loads no certificate
 * library. File names are kubeadm's. Keys are 0600.
 */
import type { Files } from '../../platform/files.ts';
import {
  createAuthority,
  issueCertificate,
  type CertificateDeps,
  type CertificateRequestSpec,
  type KeyPairPem,
} from './certificates.ts';

const DAY_MS = 86_400_000;
const AUTHORITY_MS = 3650 * DAY_MS;
const LEAF_MS = 365 * DAY_MS;

/** Names and addresses the serving certificates carry. */
export interface PkiNames {
  readonly nodeName: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** Everything loaded. */
export interface ClusterPki {
  readonly ca: KeyPairPem;
  readonly apiServer: KeyPairPem;
  /** The API server towards kubelets. */
  readonly kubeletClient: KeyPairPem;
  /** The kubelet's serving certificate. */
  readonly kubeletServer: KeyPairPem;
  /** The administrator: system:masters. */
  readonly admin: KeyPairPem;
  /** The API server towards aggregated API servers, and the authority they know it by. */
  readonly frontProxy: KeyPairPem & { readonly caPem: string };
  /** Signs service-account tokens: PKCS#8 and SPKI. */
  readonly serviceAccount: { readonly privateKeyPem: string; readonly publicKeyPem: string };
}

type Stamp = Record<string, { readonly madeFor: string; readonly notAfterMs: number }>;
interface Folder {
  readonly dir: string;
  readonly files: Files;
  readonly deps: CertificateDeps;
  readonly stamp: Stamp;
  changed: boolean;
}

/** Loads the certificates under `dir`, making what is missing, outdated or made for other names. */
export async function ensureClusterPki(
  files: Files,
  deps: CertificateDeps,
  options: { dir: string; names: PkiNames },
): Promise<ClusterPki> {
  const { dir, names } = options;
  await files.makeDir(dir, { mode: 0o700 });
  const folder: Folder = { dir, files, deps, stamp: await readStamp(files, `${dir}/stamp.json`), changed: false };
  const ca = await authority(folder);
  const leaf = (name: string, spec: Omit<CertificateRequestSpec, 'validityMs'>): Promise<KeyPairPem> =>
    leafCertificate(folder, ca, { name, spec: { ...spec, validityMs: LEAF_MS } });
  const serving = { dnsNames: names.dnsNames, ipAddresses: names.ipAddresses };
  // Each is a key and a signature of its own: at once.
  const [apiServer, kubeletClient, kubeletServer, admin, frontProxy, serviceAccount] = await Promise.all([
    leaf('apiserver', { commonName: 'kube-apiserver', ...serving, usages: ['server'] }),
    leaf('apiserver-kubelet-client', {
      commonName: 'kube-apiserver-kubelet-client',
      organizations: ['system:masters'],
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
  if (folder.changed)
    await files.writeFileAtomic(`${dir}/stamp.json`, JSON.stringify(folder.stamp, undefined, 1), { mode: 0o600 });
  return { ca, apiServer, kubeletClient, kubeletServer, admin, frontProxy, serviceAccount };
}

async function readStamp(files: Files, path: string): Promise<Stamp> {
  if (!(await files.exists(path))) return {};
  try {
    return JSON.parse(await files.readText(path)) as Stamp;
  } catch {
    return {}; // Only costs new leaf certificates.
  }
}

async function authority(folder: Folder, name = 'ca', commonName = 'kubernetes'): Promise<KeyPairPem> {
  const found = await readPair(folder, name);
  if (found !== undefined) return found;
  return writePair(folder, name, await createAuthority(folder.deps, commonName, AUTHORITY_MS));
}

/** Of an authority of its own: whoever it signs speaks for every user. */
async function frontProxyPair(folder: Folder): Promise<ClusterPki['frontProxy']> {
  const ca = await authority(folder, 'front-proxy-ca', 'front-proxy-ca');
  const spec = { commonName: 'front-proxy-client', usages: ['client'] as const, validityMs: LEAF_MS };
  const pair = await leafCertificate(folder, ca, { name: 'front-proxy-client', spec });
  return { ...pair, caPem: ca.certPem };
}

async function leafCertificate(
  folder: Folder,
  ca: KeyPairPem,
  wanted: { name: string; spec: CertificateRequestSpec },
): Promise<KeyPairPem> {
  const { name, spec } = wanted;
  const madeFor = folder.deps.crypto.sha256Hex(JSON.stringify([ca.certPem, spec])).slice(0, 16);
  const stamp = folder.stamp[name];
  const fresh =
    stamp !== undefined && stamp.madeFor === madeFor && stamp.notAfterMs - folder.deps.nowMs() > spec.validityMs / 3;
  const found = fresh ? await readPair(folder, name) : undefined;
  if (found !== undefined) return found;
  const made = await issueCertificate(folder.deps, ca, spec);
  folder.stamp[name] = { madeFor, notAfterMs: folder.deps.nowMs() + spec.validityMs };
  folder.changed = true;
  return writePair(folder, name, made);
}

async function readPair({ files, dir }: Folder, name: string): Promise<KeyPairPem | undefined> {
  const [cert, key] = [`${dir}/${name}.crt`, `${dir}/${name}.key`];
  if (!(await files.exists(cert)) || !(await files.exists(key))) return undefined;
  return { certPem: await files.readText(cert), keyPem: await files.readText(key) };
}

async function writePair({ files, dir }: Folder, name: string, pair: KeyPairPem): Promise<KeyPairPem> {
  await files.writeFileAtomic(`${dir}/${name}.key`, pair.keyPem, { mode: 0o600 });
  await files.writeFileAtomic(`${dir}/${name}.crt`, pair.certPem, { mode: 0o644 });
  return pair;
}

async function tokenKey({ files, dir, deps }: Folder): Promise<ClusterPki['serviceAccount']> {
  const [privatePath, publicPath] = [`${dir}/sa.key`, `${dir}/sa.pub`];
  if ((await files.exists(privatePath)) && (await files.exists(publicPath))) {
    return { privateKeyPem: await files.readText(privatePath), publicKeyPem: await files.readText(publicPath) };
  }
  const { privateKeyPem, publicKeyPem } = await createTokenKey(deps);
  await files.writeFileAtomic(privatePath, privateKeyPem, { mode: 0o600 });
  await files.writeFileAtomic(publicPath, publicKeyPem, { mode: 0o644 });
  return { privateKeyPem, publicKeyPem };
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
    privateKeyPem: pem('PRIVATE KEY', await subtle.exportKey('pkcs8', pair.privateKey)),
    publicKeyPem: pem('PUBLIC KEY', await subtle.exportKey('spki', pair.publicKey)),
  };
}

function pem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
