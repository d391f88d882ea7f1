/** Selects the ingresses that fit into the budget of a snapshot, the oldest first. */
import { byAge } from '../by-age.ts';
import type { Ingress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import { routesOfIngress, type IngressRoutes } from '../ingress/ingress-routes.ts';
import { certificatesOfIngress } from '../ingress/tls-certificates.ts';
import type { ClusterView } from './cluster-view.ts';
import { costOfBackends, costOfRoutes } from './route-cost.ts';
import { RouteProblems } from './route-problems.ts';
import type { SecretCertificates } from './secret-certificates.ts';
import { ServiceBackends } from './service-backend.ts';
import { INGRESS_LIMITS, LIMIT_EXCEEDED, SnapshotBudget, type BudgetAccount } from './snapshot-budget.ts';
import type { PlannedCertificate } from './snapshot-plan.ts';

/** Each route of an ingress is served with TLS and without. */
const PORTS = 2;

export interface ConvertedIngress {
  readonly ingress: Stored<Ingress>;
  readonly problems: RouteProblems;
  /** Undefined when the ingress would exceed a limit; then nothing of it is served. */
  readonly served?: IngressRoutes & { readonly certificates: readonly PlannedCertificate[] };
}

/** `ingresses` are ours. One step for each. */
export function* acceptIngresses({
  ingresses,
  view,
  certificates,
}: {
  readonly ingresses: readonly Stored<Ingress>[];
  readonly view: ClusterView;
  readonly certificates: SecretCertificates;
}): Steps<readonly ConvertedIngress[]> {
  const services = new ServiceBackends(view);
  const budget = new SnapshotBudget(INGRESS_LIMITS);
  const converted: ConvertedIngress[] = [];
  for (const ingress of ingresses.toSorted(byAge)) {
    const problems = new RouteProblems();
    const account = budget.account(namespaceOf(ingress));
    const routes = yield* acceptedRoutes(ingress, { services, account, problems });
    if (routes === undefined) converted.push({ ingress, problems });
    else {
      const own = yield* certificatesOfIngress(ingress, { view, certificates, account, problems });
      converted.push({ ingress, problems, served: { ...routes, certificates: own } });
    }
    yield;
  }
  return converted;
}

/** Undefined when the ingress would exceed a limit. */
function* acceptedRoutes(
  ingress: Stored<Ingress>,
  {
    services,
    account,
    problems,
  }: { readonly services: ServiceBackends; readonly account: BudgetAccount; readonly problems: RouteProblems },
): Steps<IngressRoutes | undefined> {
  const ingressRoutes = yield* routesOfIngress(ingress, services, problems);
  const parts = new Set(ingressRoutes.ranked.flatMap(({ route: { rule, match, hosts } }) => [rule, match, hosts]));
  const hosts = ingressRoutes.ranked.reduce((sum, { route }) => sum + route.hosts.length, 0);
  const refusal = account.take(costOfRoutes(parts, hosts * PORTS), costOfBackends(ingressRoutes.backends));
  if (refusal === undefined) return ingressRoutes;
  problems.add({ reason: LIMIT_EXCEEDED, message: `the ingress is not served: ${refusal}` });
  return undefined;
}
