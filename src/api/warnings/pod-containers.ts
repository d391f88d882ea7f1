/**
 * Warnings about containers: annotations replaced by fields, fractions of bytes, hidden variables. Upstream: pkg/api/pod
 * warnings.
 */
import { deepEqual } from '../../base/equal.ts';
import { quote } from '../../base/go-quote.ts';
import { indexIn } from '../../base/text-search.ts';
import type { AppArmorProfile, Container, PodSpec } from '../gen/core-v1.ts';
import type { ObjectMeta } from '../gen/meta-v1.ts';
import { fractionWarnings } from './fractions.ts';

/** A container with its path in the object. */
export interface PlacedContainer {
  readonly container: Container;
  readonly path: string;
}

/** The parts of a pod or a template, with their paths. */
export interface PodParts {
  readonly spec: PodSpec;
  readonly metadata: ObjectMeta;
  readonly specPath: string;
  readonly metadataPath: string;
  readonly isTemplate: boolean;
}

const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';
const USE_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const USE_APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead';

/** All containers of a pod, in upstream's order. */
export function placedContainers(spec: PodSpec, path: string): readonly PlacedContainer[] {
  return (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((list) =>
    (spec[list] ?? []).map((container, index) => ({ container, path: `${path}.${list}[${index}]` })),
  );
}

/** The profile of an annotation's value; undefined for an unknown one. */
function profileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  const prefix = 'localhost/';
  const localhostProfile = annotation.startsWith(prefix) ? annotation.slice(prefix.length) : '';
  return localhostProfile === '' ? undefined : { type: 'Localhost', localhostProfile };
}

/** Warnings about the pod's seccomp annotation. */
export function podSeccompWarnings({ spec, metadata, metadataPath }: PodParts): string[] {
  const isSet = metadata.annotations?.[SECCOMP_POD] !== undefined;
  if (!isSet || spec.securityContext?.seccompProfile !== undefined) return [];
  return [`${metadataPath}.annotations[${SECCOMP_POD}]: ${USE_SECCOMP}`];
}

/** Warnings about one container's annotations. In pods, defaulting has copied AppArmor annotations to fields. */
function annotationWarnings({ spec, metadata, metadataPath, isTemplate }: PodParts, container: Container): string[] {
  const annotations = metadata.annotations ?? {};
  const warnings: string[] = [];
  const seccomp = SECCOMP_CONTAINER + container.name;
  if (container.securityContext?.seccompProfile === undefined && annotations[seccomp] !== undefined)
    warnings.push(`${metadataPath}.annotations[${seccomp}]: ${USE_SECCOMP}`);
  const appArmor = APP_ARMOR + container.name;
  const annotation = annotations[appArmor];
  if (!isTemplate || annotation === undefined || container.securityContext?.appArmorProfile !== undefined)
    return warnings;
  const ofPod = spec.securityContext?.appArmorProfile;
  if (ofPod === undefined || !deepEqual(ofPod, profileOf(annotation)))
    warnings.push(`${metadataPath}.annotations[${appArmor}]: ${USE_APP_ARMOR}`);
  return warnings;
}

/** A repeated variable that refers to the earlier one is intended; any other is a warning. */
function environmentWarnings({ container, path }: PlacedContainer): string[] {
  const seen = new Set<string>();
  return (container.env ?? []).flatMap(({ name, value = '', valueFrom }, index) => {
    const isFirst = !seen.has(name);
    seen.add(name);
    if (isFirst) return [];
    const reference = `$(${name})`;
    if (valueFrom === undefined && value !== reference && indexIn(value, reference) >= 0) return [];
    return [
      `${path}.env[${index}]: hides previous definition of ${quote(name)}, which may be dropped when using apply`,
    ];
  });
}

function resourceWarnings({ container: { resources = {} }, path }: PlacedContainer): string[] {
  return ['memory', 'ephemeral-storage'].flatMap((name) =>
    (['limits', 'requests'] as const).flatMap((list) =>
      fractionWarnings(resources[list]?.[name], `${path}.resources.${list}[${name}]`),
    ),
  );
}

/** The warnings of all containers. */
export function containerWarnings(pod: PodParts, containers: readonly PlacedContainer[]): string[] {
  return containers.flatMap((placed) => [
    ...annotationWarnings(pod, placed.container),
    ...resourceWarnings(placed),
    ...environmentWarnings(placed),
  ]);
}
