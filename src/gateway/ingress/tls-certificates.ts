/**
 * The certificates of ingresses. A secret is read only in the ingress's own namespace; the older of two ingresses with one host
 * has it.
 */
import type { Ingress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { ClusterView } from '../snapshot/cluster-view.ts';
import type { RouteProblems } from '../snapshot/route-problems.ts';
import { MAX_CERTIFICATES, type SecretCertificates } from '../snapshot/secret-certificates.ts';
import { bytesOf, LIMIT_EXCEEDED, type BudgetAccount } from '../snapshot/snapshot-budget.ts';
import type { PlannedCertificate } from '../snapshot/snapshot-plan.ts';

/** One certificate for each secret, with the names of all entries that refer to it. One step for each. */
export function* certificatesOfIngress(
  ingress: Stored<Ingress>,
  {
    view,
    certificates,
    account,
    problems,
  }: {
    readonly view: ClusterView;
    readonly certificates: SecretCertificates;
    readonly account: BudgetAccount;
    readonly problems: RouteProblems;
  },
): Steps<readonly PlannedCertificate[]> {
  const bySecret = new Map<string, { readonly names: Set<string>; withOwnNames: boolean }>();
  for (const { hosts = [], secretName } of ingress.spec?.tls ?? []) {
    // Hosts without a secret get the default certificate.
    if (secretName === undefined || secretName === '') continue;
    const entry = bySecret.get(secretName) ?? { names: new Set(), withOwnNames: false };
    bySecret.set(secretName, entry);
    for (const host of hosts) entry.names.add(host);
    entry.withOwnNames ||= hosts.length === 0;
  }
  if (bySecret.size > MAX_CERTIFICATES) {
    const message = `spec.tls names ${bySecret.size} secrets; the first ${MAX_CERTIFICATES} are served`;
    problems.add({ reason: LIMIT_EXCEEDED, message });
  }
  const planned: PlannedCertificate[] = [];
  for (const [secretName, { names, withOwnNames }] of [...bySecret].slice(0, MAX_CERTIFICATES)) {
    const secretCertificate = certificates.find(view, namespaceOf(ingress), secretName);
    if (secretCertificate.problem !== undefined) {
      problems.add(secretCertificate.problem);
      continue;
    }
    const { certificate } = secretCertificate;
    const since = ingress.metadata.creationTimestamp ?? '';
    const one = { certificate, names: [...names], withOwnNames, since };
    const refusal = account.take(bytesOf(one.names), new Map([[certificate, bytesOf(certificate)]]));
    if (refusal !== undefined) {
      problems.add({ reason: LIMIT_EXCEEDED, message: `secret ${secretName} and those after it: ${refusal}` });
      break;
    }
    planned.push(one);
    yield;
  }
  return planned;
}
