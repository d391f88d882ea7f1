/**
 * The client certificate by which the DNS process of a server node authenticates to the API: kept in a file of its
 * own and renewed long before it expires. DNS reads the file again every minute, as it does with the kubelet's on
 * nodes without a server.
 */
import { issueCertificate, type CertificateDeps, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import type { Platform } from '../../platform/platform.ts';
import { kubeconfigJson } from '../kubeconfig.ts';

const DAY_MS = 86_400_000;
/** DNS outlives the server: after days without a server its certificate must still be valid. */
export const DNS_CERTIFICATE_MS = 7 * DAY_MS;
const RENEWED_BEFORE_MS = 6 * DAY_MS;

/** The user of DNS. Not a service account: a certificate would outlive the account's deletion. */
const DNS_USER = 'keelson:dns';

/** The API server's address, and the authority that signs certificates. */
export interface DnsCredentials {
  readonly server: string;
  readonly ca: KeyPairPem;
  readonly pkiDir: string;
}

/** Updates the kubeconfig and its certificate where necessary. */
export async function writeDnsCredentials(
  platform: Pick<Platform, 'files' | 'crypto' | 'random' | 'clock'>,
  path: string,
  { server, ca, pkiDir }: DnsCredentials,
): Promise<void> {
  const { files, crypto, random, clock } = platform;
  const pairFile = `${pkiDir}/dns-client-current.pem`;
  const text = kubeconfigJson({ server, caPem: ca.certPem, pairFile, user: 'dns', cluster: 'keelson' });
  // The kubeconfig contains the authority, so a change of authority is noticed there; it is written last.
  const same = (await readIfThere(files, path)) === text;
  const deps: CertificateDeps = { crypto, random, nowMs: () => clock.nowMs() };
  if (!same || !isStillValid(deps, await readIfThere(files, pairFile))) {
    const pair = await issueCertificate(deps, ca, {
      commonName: DNS_USER,
      organizations: [],
      usages: ['client'],
      validityMs: DNS_CERTIFICATE_MS,
    });
    await files.makeDir(pkiDir, { mode: 0o700 });
    await files.writeFileAtomic(pairFile, `${pair.certPem.trimEnd()}\n${pair.keyPem}`, { mode: 0o600 });
  }
  if (!same) await files.writeFileAtomic(path, text, { mode: 0o600 });
}

function isStillValid(deps: CertificateDeps, pem: string): boolean {
  try {
    return readCertificate(deps, pem).notAfterMs - deps.nowMs() > RENEWED_BEFORE_MS;
  } catch {
    return false; // missing or truncated: written again
  }
}

async function readIfThere(files: Platform['files'], path: string): Promise<string> {
  return (await files.exists(path)) ? await files.readText(path) : '';
}
