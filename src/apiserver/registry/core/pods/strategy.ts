/** Strategies of pods and their sub-resources. Upstream: registry/core/pod/strategy.go. */
import { setPodDefaults } from '../../../../api/defaults/pod.ts';
import type { Field } from '../../../../api/field-error.ts';
import type { Pod, PodSpec, PodStatus } from '../../../../api/gen/core-v1.ts';
import type { LabelSelector } from '../../../../api/gen/meta-v1.ts';
import { addInt64, type Int64 } from '../../../../api/int64.ts';
import { isLabelValue } from '../../../../api/names.ts';
import { leaf } from '../../../../api/managed-fields/field-set.ts';
import { isPodPhaseTerminal } from '../../../../api/pod-phase.ts';
import { computePodQosClass } from '../../../../api/pod-qos.ts';
import { validatePodResize } from '../../../../api/validation/pod-resize.ts';
import {
  validatePod,
  validatePodEphemeralContainersUpdate,
  validatePodUpdate,
} from '../../../../api/validation/pod-update.ts';
import { validatePodStatusUpdate } from '../../../../api/validation/pod-status-update.ts';
import { podStatusWarnings } from '../../../../api/warnings/network.ts';
import { podWarnings } from '../../../../api/warnings/pod.ts';
import { deepEqual } from '../../../../base/equal.ts';
import { firstByName } from '../../../../base/first-by.ts';
import {
  keepAllBut,
  type KindRules,
  kindStrategy,
  specOf,
  type Validation,
  validationParts,
} from '../../kind-strategy.ts';
import type { SelectableFields, Strategy } from '../../resource-definition.ts';

/** Adds matchLabelKeys to the selector, with the pod's own values. */
function mergeLabelKeys(
  labels: ReadonlyMap<string, string>,
  selector: LabelSelector | undefined,
  added: { keys: readonly string[] | undefined; operator: 'In' | 'NotIn' },
): void {
  if (selector === undefined) return;
  const { keys = [], operator } = added;
  for (const key of keys) {
    const value = labels.get(key);
    if (value !== undefined) (selector.matchExpressions ??= []).push({ key, operator, values: [value] });
  }
}

/**
 * Upstream adds labels with invalid values as well, for which it refuses the pod anyhow: one of a megabyte would be
 * validated for each of thousands of keys.
 */
function validLabels({ metadata }: Pod): ReadonlyMap<string, string> {
  return new Map(Object.entries(metadata.labels ?? {}).filter(([, value]) => isLabelValue(value).length === 0));
}

function mergeSelectorKeys(pod: Pod, spec: PodSpec): void {
  if (spec.affinity === undefined && spec.topologySpreadConstraints === undefined) return;
  const labels = validLabels(pod);
  for (const affinity of [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity]) {
    const terms = [
      ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((weighted) => weighted.podAffinityTerm),
    ];
    for (const term of terms) {
      mergeLabelKeys(labels, term.labelSelector, { keys: term.matchLabelKeys, operator: 'In' });
      mergeLabelKeys(labels, term.labelSelector, { keys: term.mismatchLabelKeys, operator: 'NotIn' });
    }
  }
  for (const constraint of spec.topologySpreadConstraints ?? [])
    mergeLabelKeys(labels, constraint.labelSelector, { keys: constraint.matchLabelKeys, operator: 'In' });
}

function initialStatus(pod: Pod): PodStatus {
  const status: PodStatus = { phase: 'Pending', qosClass: computePodQosClass(pod) };
  if ((pod.spec?.schedulingGates ?? []).length > 0) {
    const message = 'Scheduling is blocked due to non-empty scheduling gates';
    const lastTransitionTime = pod.metadata.creationTimestamp;
    status.conditions = [
      { type: 'PodScheduled', status: 'False', lastTransitionTime, reason: 'SchedulingGated', message },
    ];
  }
  return status;
}

const rules: KindRules<Pod> = {
  emptyStatus: {},
  generationOf: specOf,
  defaults: setPodDefaults,
  prepareForCreate(draft) {
    mergeSelectorKeys(draft, draft.spec!);
    draft.status = initialStatus(draft);
  },
  validate: validatePod,
  validateUpdate: validatePodUpdate,
  warnings: (pod, old) => (old === undefined ? podWarnings(pod) : []),
};

/** The grace period of a deleted pod: none when nothing runs. Upstream: CheckGracefulDelete. */
function podGracePeriodSeconds(pod: Pod, requestedSeconds: Int64 | undefined): Int64 {
  const { phase } = pod.status ?? {};
  if ((pod.spec?.nodeName ?? '') === '' || isPodPhaseTerminal(phase)) return 0;
  const seconds = requestedSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 0;
  return seconds < 0 ? 1 : seconds;
}

export const podStrategy: Strategy<Pod> = { ...kindStrategy(rules), gracefulDeletionSeconds: podGracePeriodSeconds };

function subresourceStrategy(
  prepare: (draft: Pod, old: Pod) => void,
  validate: (pod: Pod, old: Pod, field: Field) => Validation,
): Strategy<Pod> {
  return {
    allowUnconditionalUpdate: true,
    applyDefaults: setPodDefaults,
    prepareForUpdate: (draft, old) => prepare(draft, old),
    ...validationParts<Pod>((pod, old, field) => {
      if (old !== undefined) return validate(pod, old, field);
    }),
  };
}

function raiseGeneration(draft: Pod, old: Pod, changed: boolean): void {
  draft.metadata.generation = addInt64(old.metadata.generation ?? 0, changed ? 1 : 0);
}

/** Keeps observed generations (of the status and of each condition) that a writer omits. */
function keepObservedGenerations(status: PodStatus, old: PodStatus): void {
  if ((status.observedGeneration ?? 0) === 0 && old.observedGeneration !== undefined)
    status.observedGeneration = old.observedGeneration;
  if (status.conditions === undefined || old.conditions === undefined) return;
  const before = Map.groupBy(old.conditions, ({ type }) => type);
  status.conditions = status.conditions.map((condition) => {
    const observedGeneration = before.get(condition.type)?.shift()?.observedGeneration;
    if (observedGeneration === undefined || (condition.observedGeneration ?? 0) !== 0) return condition;
    return { ...condition, observedGeneration };
  });
}

const podStatusParts = subresourceStrategy((draft, old) => {
  keepAllBut(draft, old, 'status');
  draft.metadata.generation = old.metadata.generation;
  draft.metadata.ownerReferences = old.metadata.ownerReferences;
  draft.status ??= {};
  draft.status.qosClass ??= old.status?.qosClass;
  keepObservedGenerations(draft.status, old.status ?? {});
}, validatePodStatusUpdate);

/** Strategy of `pods/status`: kubelets may not change owners. */
export const podStatusStrategy: Strategy<Pod> = {
  ...podStatusParts,
  warnings: podStatusWarnings,
  resetFields: { 'f:metadata': { 'f:deletionTimestamp': leaf, 'f:ownerReferences': leaf }, 'f:spec': leaf },
};

/** Strategy of `pods/ephemeralcontainers`. */
export const podEphemeralContainersStrategy = subresourceStrategy((draft, old) => {
  const { ephemeralContainers } = draft.spec!;
  keepAllBut(draft, old, 'spec');
  draft.spec = { ...old.spec!, ephemeralContainers };
  raiseGeneration(draft, old, (ephemeralContainers ?? []).length !== (old.spec?.ephemeralContainers ?? []).length);
}, validatePodEphemeralContainersUpdate);

function withResources(old: Pod, draft: Pod): PodSpec {
  const resize = (kind: 'containers' | 'initContainers') => {
    const changes = firstByName(draft.spec?.[kind]);
    return old.spec?.[kind]?.map((container) => {
      const changed = changes.get(container.name);
      return changed === undefined
        ? container
        : { ...container, resources: changed.resources, resizePolicy: changed.resizePolicy };
    });
  };
  const initContainers = resize('initContainers');
  const spec: PodSpec = {
    ...old.spec!,
    containers: resize('containers') ?? [],
    ...(initContainers === undefined ? {} : { initContainers }),
  };
  if (draft.spec?.resources !== undefined) spec.resources = draft.spec.resources;
  return spec;
}

/** Strategy of `pods/resize`: only the containers' cpu and memory change; the kubelet decides whether and when. */
export const podResizeStrategy = subresourceStrategy((draft, old) => {
  const spec = withResources(old, draft);
  keepAllBut(draft, old, 'spec');
  draft.spec = spec;
  raiseGeneration(draft, old, !deepEqual(spec, old.spec));
}, validatePodResize);

/** The fields of pods for field selectors. */
export const podSelectableFields: SelectableFields<Pod> = ({ spec, status }) => ({
  'spec.nodeName': spec?.nodeName ?? '',
  // The name that old clients use.
  'spec.host': spec?.nodeName ?? '',
  'spec.restartPolicy': spec?.restartPolicy ?? '',
  'spec.schedulerName': spec?.schedulerName ?? '',
  'spec.serviceAccountName': spec?.serviceAccountName ?? '',
  'spec.hostNetwork': String(spec?.hostNetwork ?? false),
  'status.phase': status?.phase ?? '',
  'status.podIP': status?.podIPs?.[0]?.ip ?? status?.podIP ?? '',
  'status.nominatedNodeName': status?.nominatedNodeName ?? '',
});
