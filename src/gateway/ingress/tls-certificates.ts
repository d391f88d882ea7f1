/**
 * The certificates that ingresses name. A secret is read in the ingress's own namespace and nowhere else; of two that claim a
 * host the older ingress has it.
 */
import type { Ingress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { ServedCertificate } from '../snapshot/snapshot.ts';
import type { ClusterView, RouteProblem } from '../snapshot/cluster-view.ts';

/** A certificate and its key, or why there is none. */
export type SecretCertificate =
  | (Pick<ServedCertificate, 'certPem' | 'keyPem'> & { readonly problem?: undefined })
  | { readonly problem: RouteProblem };

/** Reads the DNS names in a certificate and checks that the key is its; throws for what is no certificate. */
export type InspectCertificate = (certPem: string, keyPem: string) => readonly string[];

export function certificatesOfIngress(
  { metadata, spec }: Stored<Ingress>,
  view: ClusterView,
  inspect: InspectCertificate,
): { readonly certificates: readonly ServedCertificate[]; readonly problems: readonly RouteProblem[] } {
  const certificates: ServedCertificate[] = [];
  const problems: RouteProblem[] = [];
  for (const { hosts, secretName } of spec?.tls ?? []) {
    // Without a secret the hosts get the certificate of all others.
    if (secretName === undefined || secretName === '') continue;
    const found = secretCertificate(metadata.namespace ?? '', secretName, view);
    if (found.problem !== undefined) {
      problems.push(found.problem);
      continue;
    }
    try {
      const names = inspect(found.certPem, found.keyPem);
      certificates.push({
        names: (hosts ?? []).length > 0 ? hosts! : names,
        certPem: found.certPem,
        keyPem: found.keyPem,
      });
    } catch (error) {
      const message = `secret ${secretName}: ${error instanceof Error ? error.message : String(error)}`;
      problems.push({ reason: 'InvalidCertificate', message });
    }
  }
  return { certificates, problems };
}

export function secretCertificate(namespace: string, name: string, view: ClusterView): SecretCertificate {
  const secret = view.secret(namespace, name);
  if (secret === undefined)
    return { problem: { reason: 'SecretNotFound', message: `secret ${name} with the certificate does not exist` } };
  const certPem = textOf(secret.data?.['tls.crt']);
  const keyPem = textOf(secret.data?.['tls.key']);
  if (certPem === '' || keyPem === '')
    return { problem: { reason: 'InvalidCertificate', message: `secret ${name} lacks tls.crt or tls.key` } };
  return { certPem, keyPem };
}

function textOf(base64: string | undefined): string {
  return base64 === undefined ? '' : Buffer.from(base64, 'base64').toString('latin1');
}
