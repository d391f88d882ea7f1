/** Brings an existing bootstrap role or binding up to date: adds what is missing, keeps what was added. Pure. Upstream: component-helpers rbac reconciliation. */
import { deepEqual } from '../../base/equal.ts';
import type { PolicyRule, Subject } from '../../api/gen/rbac-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';

type Reconcilable = KubernetesObject & { rules?: PolicyRule[]; subjects?: Subject[]; aggregationRule?: object };

/** The parts of an object on which its reconciliation depends. */
interface ReconciledParts {
  readonly labels: unknown;
  readonly annotations: unknown;
  readonly rules: unknown;
  readonly subjects: unknown;
}

/** By wanted object: the parts that last lacked nothing. Forks of a simulated cluster share the parts of their objects. */
const complete = new WeakMap<KubernetesObject, ReconciledParts>();

/** The changed copy, or undefined when nothing is missing or the object opted out. */
export function reconcileBootstrap<T extends Reconcilable>(current: T, wanted: T): T | undefined {
  const parts = partsOf(current);
  const reconciledParts = complete.get(wanted);
  if (reconciledParts !== undefined && hasSameParts(parts, reconciledParts)) return undefined;
  const changed = withMissing(current, wanted);
  if (changed === undefined) complete.set(wanted, parts);
  return changed;
}

function partsOf({ metadata, rules, subjects }: Reconcilable): ReconciledParts {
  return { labels: metadata.labels, annotations: metadata.annotations, rules, subjects };
}

function hasSameParts(a: ReconciledParts, b: ReconciledParts): boolean {
  return a.labels === b.labels && a.annotations === b.annotations && a.rules === b.rules && a.subjects === b.subjects;
}

function withMissing<T extends Reconcilable>(current: T, wanted: T): T | undefined {
  if (current.metadata.annotations?.['rbac.authorization.kubernetes.io/autoupdate'] === 'false') return undefined;
  const labels = { ...wanted.metadata.labels, ...current.metadata.labels };
  const annotations = { ...wanted.metadata.annotations, ...current.metadata.annotations };
  const some = (map: Readonly<Record<string, string>>): boolean => Object.keys(map).length > 0;
  const next: T = {
    ...current,
    metadata: {
      ...current.metadata,
      ...(some(labels) ? { labels } : {}),
      ...(some(annotations) ? { annotations } : {}),
    },
  };
  // Aggregated roles get their rules from the aggregation controller.
  if (wanted.rules !== undefined && wanted.aggregationRule === undefined)
    next.rules = union(current.rules, wanted.rules);
  if (wanted.subjects !== undefined) next.subjects = union(current.subjects, wanted.subjects);
  return deepEqual(next, current) ? undefined : next;
}

function union<V>(current: readonly V[] | undefined, wanted: readonly V[]): V[] {
  const present = current ?? [];
  // It nearly always has the same index.
  const missing = wanted.filter((w, at) => !deepEqual(present[at], w) && !present.some((p) => deepEqual(p, w)));
  return [...present, ...missing];
}
