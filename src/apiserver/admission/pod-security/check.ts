/** The form of a check, and texts that checks share. Upstream: pod-security-admission/policy. */
import type { Container, EphemeralContainer, PodSpec } from '../../../api/gen/core-v1.ts';
import type { ObjectMeta } from '../../../api/gen/meta-v1.ts';

/** A pod as checks see it. */
export interface CheckedPod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  /** Init containers, containers, ephemeral containers. */
  readonly containers: readonly (Container | EphemeralContainer)[];
}

/** A violation: lists show the reason alone, or followed by the detail in brackets. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface Check {
  readonly id: string;
  /** The minor version in which the check was introduced. */
  readonly since: number;
  /** The baseline checks that this check replaces. */
  readonly overrides?: readonly string[];
  /** `minor` is the requested version of the rules. */
  run(pod: CheckedPod, minor: number): Violation | undefined;
}

/** Collects the parts of a pod or of a template that are checked. */
export function checkedPod(metadata: ObjectMeta | undefined, spec: PodSpec): CheckedPod {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
  return { metadata: metadata ?? {}, spec, containers };
}

/** `"a", "b"`. */
export function quoted(values: readonly string[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ');
}

/** Each value once, sorted. */
export function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted();
}

/** The singular or plural for this count. */
export function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** `container "a"`, `containers "a", "b"`. */
export function containersText(names: readonly string[]): string {
  return `${plural(names.length, 'container', 'containers')} ${quoted(names)}`;
}

/** `pod and containers "a", "b"`: the parts of the pod that set forbidden fields. */
export function settersText(pod: boolean, names: readonly string[]): string {
  return [...(pod ? ['pod'] : []), ...(names.length > 0 ? [containersText(names)] : [])].join(' and ');
}

export function namesOf(pod: CheckedPod, holds: (container: Container | EphemeralContainer) => boolean): string[] {
  return pod.containers.filter(holds).map(({ name }) => name);
}

/** Whether Linux-only settings do not apply. */
export function isWindows({ spec }: CheckedPod): boolean {
  return spec.os?.name === 'windows';
}
