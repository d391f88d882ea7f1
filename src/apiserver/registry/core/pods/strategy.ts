/** How pods come into being, change and go. Upstream: registry/core/pod/strategy.go. */
import { setPodDefaults } from '../../../../api/defaults/pod.ts';
import type { Field } from '../../../../api/field-error.ts';
import type { Pod, PodSpec, PodStatus } from '../../../../api/gen/core-v1.ts';
import type { LabelSelector } from '../../../../api/gen/meta-v1.ts';
import { addInt64, type Int64 } from '../../../../api/int64.ts';
import { isPodPhaseTerminal } from '../../../../api/pod-phase.ts';
import { computePodQosClass } from '../../../../api/pod-qos.ts';
import { validatePodResize } from '../../../../api/validation/pod-resize.ts';
import {
  validatePod,
  validatePodEphemeralContainersUpdate,
  validatePodStatusUpdate,
  validatePodUpdate,
} from '../../../../api/validation/pod-update.ts';
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

/** Makes keys of matchLabelKeys part of the selector, with the pod's own values. */
function mergeLabelKeys(
  pod: Pod,
  selector: LabelSelector | undefined,
  added: { keys: readonly string[] | undefined; operator: 'In' | 'NotIn' },
): void {
  if (selector === undefined) return;
  const { keys = [], operator } = added;
  for (const key of keys) {
    const value = pod.metadata.labels?.[key];
    if (value !== undefined) (selector.matchExpressions ??= []).push({ key, operator, values: [value] });
  }
}

function mergeSelectorKeys(pod: Pod, spec: PodSpec): void {
  for (const affinity of [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity]) {
    const terms = [
      ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((weighted) => weighted.podAffinityTerm),
    ];
    for (const term of terms) {
      mergeLabelKeys(pod, term.labelSelector, { keys: term.matchLabelKeys, operator: 'In' });
      mergeLabelKeys(pod, term.labelSelector, { keys: term.mismatchLabelKeys, operator: 'NotIn' });
    }
  }
  for (const constraint of spec.topologySpreadConstraints ?? [])
    mergeLabelKeys(pod, constraint.labelSelector, { keys: constraint.matchLabelKeys, operator: 'In' });
}

function initialStatus(pod: Pod): PodStatus {
  const status: PodStatus = { phase: 'Pending', qosClass: computePodQosClass(pod) };
  if ((pod.spec?.schedulingGates ?? []).length > 0) {
    const message = 'Scheduling is blocked due to non-empty scheduling gates';
    status.conditions = [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message }];
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
};

/** Seconds a deleted pod gets: none when nothing runs. Upstream: CheckGracefulDelete. */
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

/** Strategy of `pods/status`: kubelets may not touch owners. */
export const podStatusStrategy = subresourceStrategy((draft, old) => {
  keepAllBut(draft, old, 'status');
  draft.metadata.generation = old.metadata.generation;
  draft.metadata.ownerReferences = old.metadata.ownerReferences;
  draft.status ??= {};
  draft.status.qosClass ??= old.status?.qosClass;
}, validatePodStatusUpdate);

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

/** Strategy of `pods/resize`: only cpu and memory of containers change; the kubelet decides whether and when. */
export const podResizeStrategy = subresourceStrategy((draft, old) => {
  const spec = withResources(old, draft);
  keepAllBut(draft, old, 'spec');
  draft.spec = spec;
  raiseGeneration(draft, old, !deepEqual(spec, old.spec));
}, validatePodResize);

/** Fields of pods that selectors may name. */
export const podSelectableFields: SelectableFields<Pod> = ({ spec, status }) => ({
  'spec.nodeName': spec?.nodeName ?? '',
  'spec.restartPolicy': spec?.restartPolicy ?? '',
  'spec.schedulerName': spec?.schedulerName ?? '',
  'spec.serviceAccountName': spec?.serviceAccountName ?? '',
  'spec.hostNetwork': String(spec?.hostNetwork ?? false),
  'status.phase': status?.phase ?? '',
  'status.podIP': status?.podIPs?.[0]?.ip ?? status?.podIP ?? '',
  'status.nominatedNodeName': status?.nominatedNodeName ?? '',
});
