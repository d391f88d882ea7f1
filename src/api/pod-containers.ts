/** The containers of a pod's spec. Upstream: pkg/api/v1/pod (VisitContainers, IsRestartableInitContainer). */
import type { Container, PodSpec } from './gen/core-v1.ts';

/**
 * Whether an init container is a sidecar: it keeps running beside the containers, and is restarted whatever the pod's restart
 * policy is.
 */
export function isRestartableInitContainer(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}

export function sidecarsOf(spec: Pick<PodSpec, 'initContainers'> | undefined): readonly Container[] {
  return (spec?.initContainers ?? []).filter(isRestartableInitContainer);
}

/** Init containers, followed by containers, without ephemeral ones. */
export function podContainers(spec: PodSpec | undefined): readonly Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}
