/** Whole pods, and what may change of them. Upstream: apis/core/validation ValidatePodUpdate and its siblings. */
import { podContainers } from '../pod-containers.ts';
import { parseIp } from '../../base/cidr.ts';
import { deepEqual } from '../../base/equal.ts';
import { firstByName } from '../../base/first-by.ts';
import { stableStringify } from '../../base/stable-json.ts';
import type { Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type { Container, Pod, PodSpec, Toleration } from '../gen/core-v1.ts';
import type { Int64 } from '../int64.ts';
import { isDns1123Subdomain } from '../names.ts';
import { validateImmutable } from './common.ts';
import { validateIp } from './ip-fields.ts';
import { validateObjectDiff } from './object-diff.ts';
import { validatePodAnnotations, validatePodAnnotationUpdates } from './pod-annotations.ts';
import { validatePodSpec } from './pod-spec.ts';

const UPDATABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

export function* validateWhole(pod: Pod, field: Field): Steps<void> {
  const spec = pod.spec ?? { containers: [] };
  yield* validatePodSpec(spec, pod.metadata.name ?? '', field.at('spec'));
  if ((spec.nodeName ?? '') !== '' && (spec.schedulingGates ?? []).length > 0) {
    field.at('spec').at('nodeName').forbidden('cannot be set until all schedulingGates have been cleared');
  }
}

export function annotationsAt(field: Field): Field {
  return field.at('metadata').at('annotations');
}

/** A projected token needs a service account. */
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
  validateTokens(pod, field);
  if ((pod.spec?.ephemeralContainers ?? []).length > 0)
    field.at('spec').at('ephemeralContainers').forbidden('cannot be set on create');
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
  const kept = new Set(now.map(textWithoutSeconds));
  const gone = before.findIndex((toleration) => !kept.has(textWithoutSeconds(toleration)));
  if (gone >= 0) field.item(gone).forbidden('existing toleration can not be modified except its tolerationSeconds');
}

function validateDeadlineUpdate(now: Int64 | undefined, before: Int64 | undefined, field: Field): void {
  if (before === undefined || now === before) return;
  if (now === undefined) field.invalid(now, 'must not update from a positive integer to nil value');
  else if (now > before) field.invalid(now, 'must be less than or equal to previous value');
}

/** The new spec with every mutable field set back to its old value. */
function munged(spec: PodSpec, old: PodSpec): PodSpec {
  const result: PodSpec = { ...spec, containers: withImages(spec.containers, old.containers) ?? [] };
  const initContainers = withImages(spec.initContainers, old.initContainers);
  if (initContainers !== undefined) result.initContainers = initContainers;
  const { activeDeadlineSeconds, tolerations, schedulingGates } = old;
  Object.assign(result, { activeDeadlineSeconds, tolerations, schedulingGates });
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1)
    result.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds;
  if ((old.schedulingGates ?? []).length > 0) mungeGated(result, old);
  return result;
}

/** While scheduling gates hold a pod, its node selector and affinity may become narrower. */
function mungeGated(spec: PodSpec, old: PodSpec): void {
  const kept = Object.entries(old.nodeSelector ?? {}).every(([key, value]) => spec.nodeSelector?.[key] === value);
  if (kept && old.nodeSelector !== undefined) spec.nodeSelector = old.nodeSelector;
  else if (kept) delete spec.nodeSelector;
  if (old.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined) return;
  if (spec.affinity?.nodeAffinity === undefined) return;
  const { nodeAffinity: _added, ...rest } = spec.affinity;
  const before = old.affinity?.nodeAffinity;
  if (Object.keys(rest).length === 0 && old.affinity === undefined) delete spec.affinity;
  else spec.affinity = { ...rest, ...(before === undefined ? {} : { nodeAffinity: before }) };
}

/** Validates an update of a pod through its main resource. */
export function* validatePodUpdate(pod: Pod, old: Pod, field: Field): Steps<void> {
  validatePodAnnotationUpdates(pod, old, annotationsAt(field));
  const place = field.at('spec');
  const [spec, before] = [pod.spec!, old.spec!];
  for (const kind of ['containers', 'initContainers'] as const) {
    if ((spec[kind] ?? []).length !== (before[kind] ?? []).length)
      return place.at(kind).forbidden('pod updates may not add or remove containers');
  }
  for (const kind of ['containers', 'initContainers'] as const) {
    for (const [index, container] of (spec[kind] ?? []).entries()) {
      const image = container.image ?? '';
      if (image === '') place.at(kind).item(index).at('image').required();
      else if (image !== image.trim())
        place.at(kind).item(index).at('image').invalid(image, 'must not have leading or trailing whitespace');
    }
  }
  validateDeadlineUpdate(spec.activeDeadlineSeconds, before.activeDeadlineSeconds, place.at('activeDeadlineSeconds'));
  validateTolerationUpdate(spec.tolerations ?? [], before.tolerations ?? [], place.at('tolerations'));
  const gates = new Set((before.schedulingGates ?? []).map((gate) => gate.name));
  for (const [index, gate] of (spec.schedulingGates ?? []).entries()) {
    if (!gates.has(gate.name))
      place
        .at('schedulingGates')
        .item(index)
        .forbidden(`only deletion is allowed, but found new scheduling gate '${gate.name}'`);
  }
  validateObjectDiff(munged(spec, before), before, {
    field: place,
    text: `pod updates may not change fields other than ${UPDATABLE}`,
  });
  if (field.errors.length === 0) yield* validateWhole(pod, field);
}

type Addresses = readonly { readonly ip?: string }[] | undefined;

/** At most one address of each family; an address that was there before may keep its spelling. */
function validateAddresses(addresses: Addresses, before: Addresses, place: Field): void {
  const texts = (addresses ?? []).map(({ ip = '' }) => ip);
  const known = new Set((before ?? []).map(({ ip }) => ip));
  for (const [index, text] of texts.entries()) if (!known.has(text)) validateIp(text, place.item(index));
  const families = new Set(texts.map((text) => parseIp(text)?.family));
  if (texts.length > 1 && (texts.length > 2 || families.size !== 2))
    place.invalid(
      texts.map((text) => ({ IP: text })),
      'may specify no more than one IP for each IP family',
    );
}

/** Validates an update of a pod's status. */
export function validatePodStatusUpdate(pod: Pod, old: Pod, field: Field): void {
  validatePodAnnotationUpdates(pod, old, annotationsAt(field));
  const place = field.at('status');
  const { nominatedNodeName = '', qosClass } = pod.status ?? {};
  if (nominatedNodeName !== '' && nominatedNodeName !== old.status?.nominatedNodeName)
    place.at('nominatedNodeName').complain(nominatedNodeName, isDns1123Subdomain(nominatedNodeName));
  if (old.status?.qosClass !== undefined) validateImmutable(qosClass, old.status.qosClass, place.at('qosClass'));
  validateAddresses(pod.status?.podIPs, old.status?.podIPs, place.at('podIPs'));
  const [hostIp] = pod.status?.hostIPs ?? [];
  if (hostIp !== undefined && hostIp.ip !== (pod.status?.hostIP ?? ''))
    place.at('hostIPs').item(0).at('ip').invalid(hostIp.ip, 'must be equal to `hostIP`');
  validateAddresses(pod.status?.hostIPs, old.status?.hostIPs, place.at('hostIPs'));
  if (old.spec?.restartPolicy !== 'Always') validateRestarts(pod, old, place);
}

/** A terminated container stays so, unless the pod's restart policy or the container's own restarts it. */
function validateRestarts(pod: Pod, old: Pod, place: Field): void {
  const containers = podContainers(old.spec);
  // Sidecars and containers with restart rules of their own restart whatever the pod's policy.
  const own = containers.filter(({ restartPolicy }) => restartPolicy !== undefined);
  const withOwnPolicy = new Set(own.map(({ name }) => name));
  for (const kind of ['containerStatuses', 'initContainerStatuses'] as const) {
    const byName = firstByName(old.status?.[kind]);
    for (const [index, status] of (pod.status?.[kind] ?? []).entries()) {
      const before = byName.get(status.name);
      const restarts = old.spec?.restartPolicy === 'OnFailure' && before?.state?.terminated?.exitCode !== 0;
      if (
        before?.state?.terminated !== undefined &&
        status.state?.terminated === undefined &&
        !restarts &&
        !withOwnPolicy.has(status.name)
      ) {
        place.at(kind).item(index).at('state').forbidden('may not be transitioned to non-terminated state');
      }
    }
  }
}

/** Validates an update through `ephemeralcontainers`: containers are only added. */
export function* validatePodEphemeralContainersUpdate(pod: Pod, old: Pod, field: Field): Steps<void> {
  validatePodAnnotationUpdates(pod, old, annotationsAt(field));
  yield* validateWhole(pod, field);
  const now = firstByName(pod.spec?.ephemeralContainers);
  for (const [index, before] of (old.spec?.ephemeralContainers ?? []).entries()) {
    const kept = now.get(before.name);
    if (kept === undefined)
      field
        .at('spec')
        .at('ephemeralContainers')
        .forbidden(`existing ephemeral containers "${before.name}" may not be removed\n`);
    else if (!deepEqual(kept, before))
      field
        .at('spec')
        .at('ephemeralContainers')
        .item(index)
        .forbidden(`existing ephemeral containers "${before.name}" may not be changed\n`);
  }
}
