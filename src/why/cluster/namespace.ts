/** Explains why a namespace that is being deleted still exists. */
import { APIServices, Namespaces } from '../../api/gen/resources.ts';
import type { Namespace } from '../../api/gen/core-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { finalizerCauses } from '../finalizers.ts';
import { nameOfObject } from '../object-name.ts';
import { remainingObjects } from '../remaining-objects.ts';
import { appendAll } from '../../base/lists.ts';

/** The number of objects that are listed; the others usually have the same cause. */
const MAX_OBJECTS = 10;
/** Conditions that report a deletion that cannot continue. Upstream: namespace/deletion status_condition_utils.go. */
const FAILURES = [
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
  'NamespaceDeletionContentFailure',
];

export async function explainNamespace(namespace: Namespace, evidence: Evidence): Promise<Diagnosis> {
  if (namespace.metadata.deletionTimestamp === undefined) return { state: 'Fine', summary: 'is active', causes: [] };
  const causes = [
    ...(await failureCauses(namespace, evidence)),
    ...(await remainingCauses(namespace, evidence)),
    ...(await finalizerCauses(Namespaces, namespace, evidence)),
    ...specFinalizerCauses(namespace),
  ];
  return { state: causes.length === 0 ? 'Progressing' : 'Trouble', summary: 'is being deleted', causes };
}

async function failureCauses(namespace: Namespace, evidence: Evidence): Promise<readonly Cause[]> {
  const conditions = FAILURES.flatMap((type) => {
    const condition = conditionOf(namespace, type);
    return condition?.status === 'True' ? [condition] : [];
  });
  if (conditions.length === 0) return [];
  const because: Cause[] = [];
  for (const service of await evidence.list(APIServices))
    if (conditionOf(service, 'Available')?.status === 'False')
      appendAll(because, await evidence.causesOf(APIServices, service));
  return conditions.map((condition) => ({ ...conditionCause(Namespaces, namespace, condition), because }));
}

/** The remaining objects. Only metadata is read, so that the content of secrets is not. */
async function remainingCauses(namespace: Namespace, evidence: Evidence): Promise<readonly Cause[]> {
  if (conditionOf(namespace, 'NamespaceContentRemaining')?.status !== 'True') return [];
  const causes: Cause[] = [];
  for (const info of await deletable(evidence)) {
    const objects = await evidence.list(info, { namespace: namespace.metadata.name ?? '', metadataOnly: true });
    appendAll(causes, await remainingObjects(info, objects.slice(0, MAX_OBJECTS - causes.length), evidence));
    if (causes.length >= MAX_OBJECTS) return causes;
  }
  return causes;
}

async function deletable(evidence: Evidence): Promise<readonly ResourceInfo<KubernetesObject>[]> {
  const resources = await evidence.served();
  return resources.filter(({ namespaced, verbs }) => namespaced && verbs.includes('list') && verbs.includes('delete'));
}

/** Finalizers of the namespace's spec other than the namespace controller's own. */
function specFinalizerCauses(namespace: Namespace): readonly Cause[] {
  return (namespace.spec?.finalizers ?? [])
    .filter((finalizer) => finalizer !== 'kubernetes')
    .map((finalizer) =>
      cause({
        code: 'Finalizer',
        object: nameOfObject(Namespaces, namespace),
        message: `finalizer ${finalizer} of its specification has not been removed`,
        cure: { text: `see why the controller behind ${finalizer} does not finish` },
      }),
    );
}
