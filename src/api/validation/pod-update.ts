/** Validation of whole pods and of their updates. Upstream: apis/core/validation ValidatePodUpdate and its siblings. */
import { deepEqual } from '../../base/equal.ts';
import { firstByName } from '../../base/first-by.ts';
import { stableStringify } from '../../base/stable-json.ts';
import type { Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type { Container, Pod, PodSchedulingGate, PodSpec, Toleration } from '../gen/core-v1.ts';
import type { Int64 } from '../int64.ts';
import { inclusiveRangeText } from '../names.ts';
import { validateObjectDiff } from './object-diff.ts';
import { validatePodAnnotations, validatePodAnnotationUpdates } from './pod-annotations.ts';
import { validatePodSpec } from './pod-spec.ts';
import { validateGated } from './gated-pod-update.ts';

const MAX_DEADLINE_SECONDS = 2 ** 31 - 1;

const UPDATABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

/** Validates the parts that new and updated pods share. Upstream: validatePodMetadataAndSpec. */
export function* validateWhole(pod: Pod, field: Field): Steps<void> {
  yield* validatePodSpec(pod.spec ?? { containers: [] }, pod.metadata.name ?? '', field.at('spec'));
  validateTokens(pod, field);
}

export function annotationsAt(field: Field): Field {
  return field.at('metadata').at('annotations');
}

/** A projected token requires a service account. */
function validateTokens({ spec }: Pod, field: Field): void {
  if ((spec?.serviceAccountName ?? '') !== '') return;
  for (const [index, { projected }] of (spec?.volumes ?? []).entries())
    for (const [at, { serviceAccountToken }] of (projected?.sources ?? []).entries())
      if (serviceAccountToken !== undefined)
        field
          .at('spec')
          .at('volumes')
          .item(index)
          .at('projected')
          .at('sources')
          .item(at)
          .at('serviceAccountToken')
          .forbidden('must not be specified when serviceAccountName is not set');
}

/** Validates a new pod. */
export function* validatePod(pod: Pod, field: Field): Steps<void> {
  yield* validateWhole(pod, field);
  validatePodAnnotations(pod.metadata.annotations, pod.spec ?? { containers: [] }, { field: annotationsAt(field) });
  const { ephemeralContainers = [], nodeName = '', schedulingGates = [] } = pod.spec ?? {};
  if (ephemeralContainers.length > 0) field.at('spec').at('ephemeralContainers').forbidden('cannot be set on create');
  if (nodeName !== '' && schedulingGates.length > 0)
    field.at('spec').at('nodeName').forbidden('cannot be set until all schedulingGates have been cleared');
}

function withImages(
  containers: readonly Container[] | undefined,
  old: readonly Container[] | undefined,
): Container[] | undefined {
  return containers?.map((container, index) => ({ ...container, image: old?.[index]?.image }) as Container);
}

function textWithoutSeconds({ tolerationSeconds: _seconds, ...rest }: Toleration): string {
  return stableStringify(rest);
}

function validateTolerationUpdate(now: readonly Toleration[], before: readonly Toleration[], field: Field): void {
  const remaining = new Set(now.map(textWithoutSeconds));
  if (!before.every((toleration) => remaining.has(textWithoutSeconds(toleration))))
    field.forbidden('existing toleration can not be modified except its tolerationSeconds');
}

/** Returns false when validation ends here. */
function validateContainersUpdate(
  containers: readonly Container[] = [],
  before: readonly Container[] = [],
  field: Field,
): boolean {
  if (containers.length !== before.length) {
    field.forbidden('pod updates may not add or remove containers');
    return false;
  }
  for (const [index, { image = '' }] of containers.entries()) {
    const place = field.item(index).at('image');
    if (image === '') place.required();
    if (image !== image.trim()) place.invalid(image, 'must not have leading or trailing whitespace');
  }
  return true;
}

/** Returns false when validation ends here. */
function validateDeadlineUpdate(now: Int64 | undefined, before: Int64 | undefined, field: Field): boolean {
  if (now === undefined) {
    if (before !== undefined) field.invalid(now, 'must not update from a positive integer to nil value');
    return true;
  }
  if (now < 0 || now > MAX_DEADLINE_SECONDS) field.invalid(now, inclusiveRangeText(0, MAX_DEADLINE_SECONDS));
  else if (before !== undefined && now > before) field.invalid(now, 'must be less than or equal to previous value');
  else return true;
  return false;
}

function validateGatesUpdate(
  now: readonly PodSchedulingGate[],
  before: readonly PodSchedulingGate[],
  field: Field,
): void {
  const existing = new Set(before.map(({ name }) => name));
  for (const [index, { name }] of now.entries())
    if (!existing.has(name))
      field.item(index).at('name').forbidden(`only deletion is allowed, but found new scheduling gate '${name}'`);
}

/** The new spec with every mutable field reset to its old value. */
function munged(spec: PodSpec, old: PodSpec): PodSpec {
  const { activeDeadlineSeconds, tolerations, schedulingGates } = old;
  const result: PodSpec = {
    ...spec,
    containers: withImages(spec.containers, old.containers) ?? [],
    initContainers: withImages(spec.initContainers, old.initContainers),
    activeDeadlineSeconds,
    tolerations,
    schedulingGates,
  };
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1)
    result.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds;
  return result;
}

/** Validates an update of a pod through its main resource, in upstream's order. */
export function* validatePodUpdate(pod: Pod, old: Pod, field: Field): Steps<void> {
  yield* validateWhole(pod, field);
  validatePodAnnotationUpdates(pod, old, annotationsAt(field));
  const place = field.at('spec');
  const [spec, before] = [pod.spec!, old.spec!];
  for (const kind of ['containers', 'initContainers'] as const)
    if (!validateContainersUpdate(spec[kind], before[kind], place.at(kind))) return;
  const deadline = place.at('activeDeadlineSeconds');
  if (!validateDeadlineUpdate(spec.activeDeadlineSeconds, before.activeDeadlineSeconds, deadline)) return;
  validateTolerationUpdate(spec.tolerations ?? [], before.tolerations ?? [], place.at('tolerations'));
  validateGatesUpdate(spec.schedulingGates ?? [], before.schedulingGates ?? [], place.at('schedulingGates'));
  const unchanged = munged(spec, before);
  const isGated = (before.schedulingGates ?? []).length > 0;
  validateObjectDiff(isGated ? validateGated(unchanged, before, place) : unchanged, before, {
    field: place,
    text: `pod updates may not change fields other than ${UPDATABLE}`,
  });
}

/** Validates an update through `ephemeralcontainers`, which may only add containers. */
export function* validatePodEphemeralContainersUpdate(pod: Pod, old: Pod, field: Field): Steps<void> {
  validatePodAnnotationUpdates(pod, old, annotationsAt(field));
  yield* validateWhole(pod, field);
  const now = firstByName(pod.spec?.ephemeralContainers);
  for (const [index, before] of (old.spec?.ephemeralContainers ?? []).entries()) {
    const ephemeralContainer = now.get(before.name);
    if (ephemeralContainer === undefined)
      field
        .at('spec')
        .at('ephemeralContainers')
        .forbidden(`existing ephemeral containers "${before.name}" may not be removed\n`);
    else if (!deepEqual(ephemeralContainer, before))
      field
        .at('spec')
        .at('ephemeralContainers')
        .item(index)
        .forbidden(`existing ephemeral containers "${before.name}" may not be changed\n`);
  }
}
