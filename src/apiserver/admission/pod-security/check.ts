/** What a check is, and the words all checks share. Upstream: pod-security-admission/policy. */
import type { Container, EphemeralContainer, PodSpec } from '../../../api/gen/core-v1.ts';
import type { ObjectMeta } from '../../../api/gen/meta-v1.ts';

/** A pod as checks see it. */
export interface CheckedPod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  /** Init containers, containers, ephemeral containers. */
  readonly containers: readonly (Container | EphemeralContainer)[];
}

/** What is not allowed: the reason stands alone in lists, the detail in brackets behind it. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface Check {
  readonly id: string;
  /** Minor version it came with. */
  readonly since: number;
  /** Checks of the baseline it takes the place of. */
  readonly overrides?: readonly string[];
  /** `minor` is the version of the rules asked for. */
  run(pod: CheckedPod, minor: number): Violation | undefined;
}

/** Makes it of a pod or of a template. */
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

/** The form for this many. */
export function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** `container "a"`, `containers "a", "b"`. */
export function containersText(names: readonly string[]): string {
  return `${plural(names.length, 'container', 'containers')} ${quoted(names)}`;
}

/** `pod and containers "a", "b"`: who set what they must not. */
export function settersText(pod: boolean, names: readonly string[]): string {
  return [...(pod ? ['pod'] : []), ...(names.length > 0 ? [containersText(names)] : [])].join(' and ');
}

export function namesOf(pod: CheckedPod, holds: (container: Container | EphemeralContainer) => boolean): string[] {
  return pod.containers.filter(holds).map(({ name }) => name);
}

/** Whether Linux' own means do not apply. */
export function isWindows({ spec }: CheckedPod): boolean {
  return spec.os?.name === 'windows';
}
