/** The names in the API server's certificate, which no other server's certificate may have. */
import type { ClusterPki } from '../../component-helpers/pki/cluster-pki.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import type { ControllersConfig } from '../../controllers/controller.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Instance } from '../instance/instance.ts';

/**
 * The names and addresses in its certificate, if the cluster's authority signed it. This machine's name is left out,
 * since it is its node's name too.
 */
export function apiServerNames(
  platform: { readonly crypto: CryptoPort },
  { apiServer }: Partial<Pick<ClusterPki, 'apiServer'>>,
  { nodeName }: Pick<Instance, 'nodeName'>,
): Pick<ControllersConfig, 'apiServerNames'> {
  if (apiServer === undefined) return {};
  const { dnsNames, ipAddresses } = readCertificate(platform, apiServer.certPem);
  return { apiServerNames: { dnsNames: dnsNames.filter((name) => name !== nodeName), ipAddresses } };
}
