/** The certificates that a Gateway's listener refers to, and the reasons why others are not served. */
import type { Stored } from '../../api/object.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { ClusterView } from '../snapshot/cluster-view.ts';
import { MAX_CERTIFICATES, type SecretCertificates } from '../snapshot/secret-certificates.ts';
import { bytesOf, type BudgetAccount } from '../snapshot/snapshot-budget.ts';
import type { Certificate, PlannedCertificate } from '../snapshot/snapshot-plan.ts';
import { isGranted } from './reference-grants.ts';
import type { Gateway, GatewayListener, ReferenceGrant } from './types.ts';

const GROUP = 'gateway.networking.k8s.io';

type CertificateReference = NonNullable<NonNullable<GatewayListener['tls']>['certificateRefs']>[number];

interface Problem {
  readonly reason: string;
  readonly message: string;
}

export interface CertificateContext {
  readonly view: ClusterView;
  readonly grants: readonly ReferenceGrant[];
  readonly certificates: SecretCertificates;
  /** The budget account of the Gateway. */
  readonly account: BudgetAccount;
  /** The secrets that its listeners have referred to so far. */
  readonly secrets: Set<string>;
}

export function certificatesOfListener(
  gateway: Stored<Gateway>,
  { hostname = '', tls }: GatewayListener,
  context: CertificateContext,
): { readonly certificates: readonly PlannedCertificate[]; readonly problem: Problem | undefined } {
  const certificates: PlannedCertificate[] = [];
  let problem: Problem | undefined;
  for (const reference of tls?.certificateRefs ?? []) {
    const found = resolveReference(namespaceOf(gateway), reference, context);
    if ('problem' in found) {
      problem ??= found.problem;
      continue;
    }
    const { certificate } = found;
    // The requested name selects among several certificates; a listener's first one is for all its names.
    const names = certificates.length === 0 ? [hostname] : [];
    const planned = { certificate, names, withOwnNames: true, since: gateway.metadata.creationTimestamp ?? '' };
    const bytes = bytesOf(planned.names) + bytesOf(certificate.ownNames);
    const refusal = context.account.take(bytes, new Map([[certificate, bytesOf(certificate)]]));
    if (refusal === undefined) certificates.push(planned);
    else problem ??= { reason: 'InvalidCertificateRef', message: `secret ${reference.name} is left out: ${refusal}` };
  }
  if (certificates.length === 0)
    problem ??= { reason: 'InvalidCertificateRef', message: 'the listener names no certificate' };
  return { certificates, problem };
}

function resolveReference(
  own: string,
  { group = '', kind = 'Secret', namespace = own, name }: CertificateReference,
  { view, grants, certificates, secrets }: CertificateContext,
): { readonly certificate: Certificate } | { readonly problem: Problem } {
  if (group !== '' || kind !== 'Secret') return invalid(`${kind} ${name} is no Secret`);
  const from = { group: GROUP, kind: 'Gateway', namespace: own };
  if (!isGranted(grants, { from, to: { group, kind, namespace, name } }))
    return {
      problem: {
        reason: 'RefNotPermitted',
        message: `no ReferenceGrant of namespace ${namespace} allows secret ${name}`,
      },
    };
  const key = `${namespace}/${name}`;
  if (!secrets.has(key) && secrets.size >= MAX_CERTIFICATES)
    return invalid(`secret ${name} is left out: the gateway names more than ${MAX_CERTIFICATES} secrets`);
  secrets.add(key);
  const secretCertificate = certificates.find(view, namespace, name);
  return secretCertificate.problem === undefined ? secretCertificate : invalid(secretCertificate.problem.message);
}

function invalid(message: string): { readonly problem: Problem } {
  return { problem: { reason: 'InvalidCertificateRef', message } };
}
