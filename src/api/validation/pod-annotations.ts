/**
 * Validation of annotations with a meaning. Upstream: ValidatePodSpecificAnnotations and ValidatePodSpecificAnnotationUpdates.
 */
import type { Field } from '../field-error.ts';
import type { PodSpec } from '../gen/core-v1.ts';

type Annotations = Readonly<Record<string, string>> | undefined;

const MIRROR = 'kubernetes.io/config.mirror';
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/';

/** Whether the text is a valid deletion cost. Upstream: helper.GetDeletionCostFromPodAnnotations. */
function isDeletionCost(text: string): boolean {
  return /^(0|-?[1-9]\d*)$/.test(text) && BigInt.asIntN(32, BigInt(text)) === BigInt(text);
}

/**
 * Validates annotations of a pod or a template. `field`: the field of the annotations. `old`: the annotations before an update;
 * unchanged ones are not checked again.
 */
export function validatePodAnnotations(
  annotations: Annotations,
  spec: PodSpec,
  { field, old }: { readonly field: Field; readonly old?: Annotations },
): void {
  if (annotations === undefined) return;
  const names = new Set(
    [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])].map(
      ({ name }) => name,
    ),
  );
  for (const [key, value] of Object.entries(annotations)) {
    if (old?.[key] === value) continue;
    const place = field.key(key);
    if (key === MIRROR && (spec.nodeName ?? '') === '')
      place.invalid(value, 'must set spec.nodeName if mirror pod annotation is set');
    const wasBad = old?.[DELETION_COST] !== undefined && !isDeletionCost(old[DELETION_COST]);
    if (key === DELETION_COST && !isDeletionCost(value) && !wasBad) place.invalid(value, 'must be a 32bit integer');
    if (key === SECCOMP_POD || key.startsWith(SECCOMP_PREFIX)) validateSeccomp(value, place);
    if (key.startsWith(APPARMOR_PREFIX)) validateAppArmor(value, key.slice(APPARMOR_PREFIX.length), { names, place });
  }
}

function validateSeccomp(profile: string, place: Field): void {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return;
  if (!profile.startsWith('localhost/')) return place.invalid(profile, 'must be a valid seccomp profile');
  const path = profile.slice('localhost/'.length);
  if (path.startsWith('/')) place.invalid(path, 'must be a relative path');
  if (path.split('/').includes('..')) place.invalid(path, "must not contain '..'");
}

function validateAppArmor(
  profile: string,
  name: string,
  { names, place }: { readonly names: ReadonlySet<string>; readonly place: Field },
): void {
  if (!names.has(name)) place.invalid(name, 'container not found');
  const isKnown = ['', 'runtime/default', 'unconfined'].includes(profile) || profile.startsWith('localhost/');
  if (!isKnown) place.invalid(profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`);
}

/**
 * Refuses changes of the mirror annotation, by which kubelets recognise the mirrors of their static pods, and of AppArmor
 * profiles.
 */
export function validatePodAnnotationUpdates(
  pod: { readonly metadata: { readonly annotations?: Annotations }; readonly spec?: PodSpec },
  old: { readonly metadata: { readonly annotations?: Annotations } },
  field: Field,
): void {
  const [now, before] = [pod.metadata.annotations ?? {}, old.metadata.annotations ?? {}];
  const protectedKey = (key: string): boolean => key === MIRROR || key.startsWith(APPARMOR_PREFIX);
  const nameOf = (key: string): string => (key === MIRROR ? 'mirror pod annotation' : 'AppArmor annotations');
  for (const [key, value] of Object.entries(before))
    if (protectedKey(key) && now[key] !== value) field.key(key).forbidden(`may not remove or update ${nameOf(key)}`);
  for (const key of Object.keys(now))
    if (protectedKey(key) && before[key] === undefined) field.key(key).forbidden(`may not add ${nameOf(key)}`);
  validatePodAnnotations(now, pod.spec ?? { containers: [] }, { field, old: before });
}
