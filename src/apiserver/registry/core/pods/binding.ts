/** Assigns a pod to a node. Upstream: registry/core/pod/storage BindingREST. */
import { Field } from '../../../../api/field-error.ts';
import type { Binding, Pod, PodCondition } from '../../../../api/gen/core-v1.ts';
import { Pods } from '../../../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../../../api/object.ts';
import { badRequest, conflict, invalid } from '../../../../api/status-error.ts';
import { formatTime } from '../../../../api/time.ts';
import { trueConditionText } from '../../../../component-helpers/pod-conditions.ts';
import type { Clock } from '../../../../platform/clock.ts';
import type { ObjectStore } from '../../object-store.ts';
import { successStatus } from '../../success-status.ts';

const PODS_BINDING = { group: '', resource: 'pods/binding' };

export interface BindingDeps {
  readonly objects: ObjectStore;
  readonly clock: Clock;
}

/** One assignment; a dry run only checks it. */
export interface BindingOrder {
  readonly namespace: string;
  readonly name: string;
  readonly binding: Binding;
  readonly dryRun: boolean;
}

function validateBinding(binding: Binding): void {
  const target = Field.root().at('target');
  const { kind = '', name = '' } = binding.target ?? {};
  if (kind !== '' && kind !== 'Node') target.at('kind').notSupported(kind, ['Node', '<empty>']);
  if (name === '') target.at('name').required();
  if (target.errors.length > 0)
    throw invalid({ group: '', kind: 'Binding' }, binding.metadata?.name ?? '', target.errors);
}

function preconditionProblem(pod: Stored<Pod>, binding: Binding): string | undefined {
  const name = pod.metadata.name;
  const { uid } = binding.metadata ?? {};
  if (uid !== undefined && uid !== '' && uid !== pod.metadata.uid) {
    return `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid}`;
  }
  if (pod.metadata.deletionTimestamp !== undefined) return `pod ${name} is being deleted, cannot be assigned to a host`;
  if ((pod.spec?.nodeName ?? '') !== '') return `pod ${name} is already assigned to node "${pod.spec!.nodeName}"`;
  if ((pod.spec?.schedulingGates ?? []).length > 0) return `pod ${name} has non-empty .spec.schedulingGates`;
  return undefined;
}

function scheduledConditions(pod: Pod, now: string): PodCondition[] {
  const old = (pod.status?.conditions ?? []).find((condition) => condition.type === 'PodScheduled');
  const scheduled: PodCondition = {
    type: 'PodScheduled',
    status: 'True',
    lastTransitionTime: old?.status === 'True' ? (old.lastTransitionTime ?? now) : now,
    ...trueConditionText(pod, 'PodScheduled'),
  };
  return old === undefined
    ? [...(pod.status?.conditions ?? []), scheduled]
    : pod.status!.conditions!.map((condition) => (condition === old ? scheduled : condition));
}

function assignPod(pod: Pod, binding: Binding, now: string): Pod {
  const metadata = { ...pod.metadata };
  // Labels and annotations of the binding (mostly topology) are copied to the pod; its own labels take precedence.
  if (binding.metadata?.annotations !== undefined)
    metadata.annotations = { ...metadata.annotations, ...binding.metadata.annotations };
  if (binding.metadata?.labels !== undefined) metadata.labels = { ...binding.metadata.labels, ...metadata.labels };
  const status = { ...pod.status, conditions: scheduledConditions(pod, now) };
  delete status.nominatedNodeName;
  return { ...pod, metadata, spec: { ...pod.spec!, nodeName: binding.target.name! }, status };
}

/** Assigns the pod to the binding's target. Throws NotFound, Conflict or Invalid. */
export async function bindPod(deps: BindingDeps, order: BindingOrder): Promise<KubernetesObject> {
  const { namespace, name, binding } = order;
  if ((binding.metadata?.name ?? '') !== name) throw badRequest('name in URL does not match name in Binding object');
  validateBinding(binding);
  const now = formatTime(deps.clock.nowMs());
  await deps.objects.guaranteedUpdate(Pods, namespace, name, (pod) => {
    const why = preconditionProblem(pod, binding);
    if (why !== undefined) throw conflict(PODS_BINDING, name, why);
    return order.dryRun ? undefined : assignPod(pod, binding, now);
  });
  return successStatus();
}
