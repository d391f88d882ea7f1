/** Keys and certificates of a standalone API server, read from the files in its flags. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { TokenKey } from '../../apiserver/authn/token-keys.ts';
import type { ApiServerOptions } from '../../apiserver/command-line/list.ts';
import { errorMessage } from '../../base/errors.ts';
import { FlagError } from '../../component-helpers/command-line/flags.ts';
import { createAuthority, issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { SniCertificate } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { servingNames } from '../instance/host-address.ts';
import type { Instance } from '../instance/instance.ts';
import { kubernetesServiceAddress } from '../network/pod-network.ts';
import { tokenAlgorithmOf } from './token-signer.ts';

const YEAR_MS = 365 * 86_400_000;

export async function sniCertificates(platform: Platform, { serving }: ApiServerOptions): Promise<SniCertificate[]> {
  return Promise.all(
    serving.sniCertificates.map(async ({ certFile, keyFile, names }) => ({
      certPem: await readText(platform, certFile),
      keyPem: await readText(platform, keyFile),
      names,
    })),
  );
}

async function readText({ files }: Platform, path: string): Promise<string> {
  try {
    return await files.readText(path);
  } catch (error) {
    throw new FlagError(`cannot read ${path}: ${errorMessage(error)}`);
  }
}

export async function optionalText(platform: Platform, path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : readText(platform, path);
}

/** The keys of one file: a private one, or any number of either kind. */
export async function tokenKeys(platform: Platform, file: string, signs: boolean): Promise<TokenKey[]> {
  const text = await readText(platform, file);
  const blocks = text.match(/-----BEGIN [A-Z ]*KEY-----[\s\S]+?-----END [A-Z ]*KEY-----/g) ?? [];
  if (blocks.length === 0) throw new FlagError(`${file} holds no key in PEM form`);
  return blocks.map((pem) => {
    try {
      const publicKey = createPublicKey(pem);
      const algorithm = tokenAlgorithmOf(publicKey);
      const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
      if (!signs) return { publicKeyPem, algorithm };
      const privateKeyPem = createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' }) as string;
      return { publicKeyPem, privateKeyPem, algorithm };
    } catch (error) {
      throw new FlagError(`${file}: ${errorMessage(error)}`);
    }
  });
}

/** The serving certificate: the configured one, or one that is created at the first start and kept in `--cert-dir`. */
export async function servingPair(
  platform: Platform,
  { serving }: ApiServerOptions,
  { instance, address }: { readonly instance: Instance; readonly address: string },
): Promise<KeyPairPem> {
  const { files, crypto, random, clock } = platform;
  const certFile = serving.tlsCertFile ?? `${serving.certDir}/apiserver.crt`;
  const keyFile = serving.tlsKeyFile ?? `${serving.certDir}/apiserver.key`;
  if (serving.tlsCertFile !== undefined || ((await files.exists(certFile)) && (await files.exists(keyFile))))
    return { certPem: await readText(platform, certFile), keyPem: await readText(platform, keyFile) };
  const deps = { crypto, random, nowMs: () => clock.nowMs() };
  const authority = await createAuthority(deps, `${instance.nodeName}-ca`, YEAR_MS);
  const names = servingNames(instance, [address, '127.0.0.1', kubernetesServiceAddress(instance.serviceCidr)]);
  const leaf = await issueCertificate(deps, authority, {
    commonName: instance.nodeName,
    dnsNames: names.dnsNames,
    ipAddresses: names.ipAddresses,
    usages: ['server'],
    validityMs: YEAR_MS,
  });
  const pair = { certPem: leaf.certPem + authority.certPem, keyPem: leaf.keyPem };
  await files.makeDir(serving.certDir, { mode: 0o755 });
  await files.writeFileAtomic(certFile, pair.certPem, { mode: 0o644 });
  await files.writeFileAtomic(keyFile, pair.keyPem, { mode: 0o600 });
  return pair;
}

/**
 * The client certificate of the front proxy. Aggregated API servers trust the authority in
 * `--requestheader-client-ca-file`.
 */
export async function frontProxy(
  platform: Platform,
  { serving }: ApiServerOptions,
): Promise<{ readonly frontProxy?: KeyPairPem & { readonly caPem: string } }> {
  const { proxyClientCertificate, proxyClientKey } = serving;
  if (proxyClientCertificate === undefined || proxyClientKey === undefined) return {};
  const [certPem, keyPem] = await Promise.all([
    readText(platform, proxyClientCertificate),
    readText(platform, proxyClientKey),
  ]);
  return { frontProxy: { certPem, keyPem, caPem: '' } };
}

/**
 * The client certificate for kubelets. By default the serving certificate, which they refuse: logs and exec need the
 * flags.
 */
export async function kubeletClient(
  platform: Platform,
  { serving }: ApiServerOptions,
  fallback: KeyPairPem,
): Promise<KeyPairPem> {
  const { kubeletClientCertificate, kubeletClientKey } = serving;
  if (kubeletClientCertificate === undefined || kubeletClientKey === undefined) return fallback;
  return {
    certPem: await readText(platform, kubeletClientCertificate),
    keyPem: await readText(platform, kubeletClientKey),
  };
}
