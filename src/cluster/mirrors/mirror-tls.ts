/**
 * TLS settings for requests to a mirror and to the hosts it names. A client certificate is sent to the mirror's own host
 * alone, and no other host is trusted without verification. Like containerd, trusts the system's authorities besides the
 * configured one.
 */
import type { Files } from '../../platform/files.ts';
import type { TlsOptions } from '../../platform/net.ts';
import type { MirrorTls } from './mirror.ts';

/** The bundles of Linux distributions in the order of Go's crypto/x509. */
const SYSTEM_BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

export type TlsFor = (url: URL) => Promise<TlsOptions>;

/** `mirror`: the URL of the mirror's endpoint. */
export function mirrorTls(files: Pick<Files, 'readText'>, mirror: URL, tls: MirrorTls = {}): TlsFor {
  let system: Promise<string> | undefined;
  return async (url) => {
    if (url.protocol !== 'https:') return {};
    const { ca_file: caFile, cert_file: certFile, key_file: keyFile } = tls;
    const isMirror = url.hostname === mirror.hostname;
    const own = caFile === undefined ? '' : await files.readText(caFile);
    system ??= systemBundle(files);
    const caPem = [await system, own].filter((text) => text !== '').join('\n');
    const pair =
      isMirror && certFile !== undefined && keyFile !== undefined
        ? { certPem: await files.readText(certFile), keyPem: await files.readText(keyFile) }
        : {};
    return {
      ...(caPem === '' ? {} : { caPem }),
      ...pair,
      ...(isMirror && tls.insecure_skip_verify === true ? { insecureSkipVerify: true } : {}),
    };
  };
}

/** Empty where the system has none: then Node.js's own authorities count. */
async function systemBundle(files: Pick<Files, 'readText'>): Promise<string> {
  for (const path of SYSTEM_BUNDLES) {
    const text = await files.readText(path).catch(() => '');
    if (text !== '') return text;
  }
  return '';
}
