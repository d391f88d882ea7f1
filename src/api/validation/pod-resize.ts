// Validation of resizes of running pods. Upstream: core/validation (ValidatePodResize).
import { deepEqual } from '../../base/equal.ts';
import type { Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type { Container, Pod, ResourceRequirements } from '../gen/core-v1.ts';
import { isPodPhaseTerminal } from '../pod-phase.ts';
import { computePodQosClass, podQosClass } from '../pod-qos.ts';
import { validatePodAnnotationUpdates } from './pod-annotations.ts';
import { annotationsAt, validateWhole } from './pod-update.ts';

/**
 * Validates an update through `resize`: only cpu and memory may change, no request or limit may be removed, and the QoS class
 * must stay. Admission checks whether the node supports it.
 */
export function* validatePodResize(pod: Pod, old: Pod, field: Field): Steps<void> {
  validatePodAnnotationUpdates(pod, old, annotationsAt(field));
  const place = field.at('spec');
  const phase = old.status?.phase;
  if (old.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined)
    return place.forbidden('static pods cannot be resized');
  if (isPodPhaseTerminal(phase))
    return field.forbidden(`pods that are not in Running or Pending phase cannot be resized`);
  if (pod.spec?.os?.name === 'windows') return place.forbidden('windows pods cannot be resized');
  if (computePodQosClass(pod) !== podQosClass(old))
    place.invalid(pod.status?.qosClass ?? '', 'Pod QOS Class may not change as a result of resizing');
  if (!deepEqual(pod.spec?.resources, old.spec?.resources)) validatePodLevelResize(pod, old, place);
  for (const kind of ['initContainers', 'containers'] as const) {
    for (const [index, container] of (pod.spec?.[kind] ?? []).entries()) {
      const before = old.spec?.[kind]?.[index];
      if (before === undefined || deepEqual(container, before)) continue;
      const at = place.at(kind).item(index);
      validateNothingRemoved(container.resources, before.resources, { field: at.at('resources'), what: 'resource' });
      if (kind === 'initContainers') validateInitResize(container, before, at);
      else if (!sameButForSize(container, before)) place.forbidden('only cpu and memory resources are mutable');
    }
  }
  yield* validateWhole(pod, field);
}

function validatePodLevelResize(pod: Pod, old: Pod, place: Field): void {
  const [now, before] = [pod.spec?.resources, old.spec?.resources];
  if (now === undefined) return place.at('resources').forbidden('pod-level resources cannot be removed');
  validateNothingRemoved(now, before, { field: place.at('resources'), what: 'pod-level resource' });
  if (!sameButForSize({ resources: now }, { resources: before ?? {} }))
    place.forbidden('only cpu and memory resources are mutable at pod-level');
}

function validateInitResize(container: Container, before: Container, field: Field): void {
  if (!sameButForSize(container, before))
    field.forbidden('only cpu and memory resources for init or sidecar containers are mutable');
  const startsAnew = container.resizePolicy?.some(({ restartPolicy }) => restartPolicy === 'RestartContainer') === true;
  if (before.restartPolicy !== 'Always' && startsAnew)
    field.forbidden('non-sidecar init containers with a resize policy of RestartContainer cannot be resized');
}

function validateNothingRemoved(
  now: ResourceRequirements | undefined,
  before: ResourceRequirements | undefined,
  { field, what }: { readonly field: Field; readonly what: string },
): void {
  for (const list of ['requests', 'limits'] as const)
    if (Object.keys(before?.[list] ?? {}).some((name) => now?.[list]?.[name] === undefined))
      field.at(list).forbidden(`${what} ${list} cannot be removed`);
}

/** Whether two containers differ only in amounts of cpu and memory. */
function sameButForSize<T extends Pick<Container, 'resources'>>(now: T, before: T): boolean {
  return deepEqual(withoutSize(now), withoutSize(before));
}

function withoutSize<T extends Pick<Container, 'resources'>>(container: T): T {
  const { limits, requests, ...rest } = container.resources ?? {};
  const others = (list: Readonly<Record<string, string>> = {}): Record<string, string> => {
    const { cpu: _cpu, memory: _memory, ...kept } = list;
    return kept;
  };
  return { ...container, resources: { ...rest, limits: others(limits), requests: others(requests) } };
}
