/**
 * Checks procMount: the baseline level requires the default outside user namespaces, the restricted level everywhere.
 */
import { type CheckedPod, containersText, distinct, namesOf, quoted, type Violation } from './check.ts';

/** Containers with another procMount than the default. */
export function forbiddenProcMount(pod: CheckedPod): Violation | undefined {
  const isBad = (mount: string | undefined): boolean => mount !== undefined && mount !== 'Default';
  const names = namesOf(pod, (c) => isBad(c.securityContext?.procMount));
  if (names.length === 0) return undefined;
  const mounts = pod.containers.map((c) => c.securityContext?.procMount ?? 'Default').filter(isBad);
  const detail = `${containersText(names)} must not set securityContext.procMount to ${quoted(distinct(mounts))}`;
  return { reason: 'procMount', detail };
}
