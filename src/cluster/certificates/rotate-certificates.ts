/**
 * Makes the next start create new certificates with new keys. The old files are kept, so running components are not
 * affected. Upstream: k3s certificate rotate, with its names of services. Authorities and the token key are kept,
 * since others trust them.
 */
import { renewLeavesAtStart } from '../../component-helpers/pki/pki-folder.ts';
import type { Files } from '../../platform/files.ts';
import { PreflightError } from '../preflight-error.ts';

/** The certificates of each service; those of etcd are in their own folder. */
const SERVICES = {
  admin: ['admin'],
  'api-server': ['apiserver', 'apiserver-kubelet-client'],
  'auth-proxy': ['front-proxy-client'],
  etcd: ['etcd/server', 'etcd/peer', 'etcd/client'],
  kubelet: ['kubelet'],
} as const;

export type CertificateService = keyof typeof SERVICES;

export const CERTIFICATE_SERVICES = Object.keys(SERVICES) as readonly CertificateService[];

/** Resolves to the certificates that will be renewed. Rejects with `PreflightError` when there are none. */
export async function rotateCertificates(
  files: Files,
  pkiDir: string,
  services: readonly CertificateService[],
): Promise<readonly string[]> {
  if (!(await files.exists(`${pkiDir}/ca.key`)))
    throw new PreflightError(
      (await files.exists(`${pkiDir}/ca.crt`))
        ? `${pkiDir} is an agent's, which renews its certificates itself; a new token replaces them`
        : `there are no certificates in ${pkiDir}`,
    );
  const leaves = services.flatMap((service) => SERVICES[service]);
  const own = leaves.filter((leaf) => !leaf.startsWith('etcd/'));
  const etcd = leaves.filter((leaf) => leaf.startsWith('etcd/')).map((leaf) => leaf.slice('etcd/'.length));
  const renewed = await renewLeavesAtStart(files, pkiDir, own);
  const renewedOfEtcd = await renewLeavesAtStart(files, `${pkiDir}/etcd`, etcd);
  return [...renewed, ...renewedOfEtcd.map((name) => `etcd/${name}`)];
}
