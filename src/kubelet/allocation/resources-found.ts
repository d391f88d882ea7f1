/** Reconstructs the allocation of a pod that has no recorded one from its running containers. Pure. */
import type { Pod } from '../../api/gen/core-v1.ts';
import {
  ownResources,
  resizableContainers,
  RESIZABLE,
  withContainerResources,
  withPodLevelResources,
  type ContainerResources,
  type Resizable,
} from './resources.ts';

/** Resources of the running container of this name; undefined: none runs, or they are unknown. */
export type AllocatedTo = (name: string) => ContainerResources | undefined;

/** The pod with its containers' actual resources and the pod-level resources that follow from them. */
export function withFoundResources(pod: Pod, actualResources: AllocatedTo): Pod {
  const byContainer: Record<string, ContainerResources> = {};
  for (const container of resizableContainers(pod)) {
    const actual = actualResources(container.name);
    if (actual !== undefined) byContainer[container.name] = ownResources(container, actual);
  }
  return withPodLevelResources(withContainerResources(pod, byContainer), ownOf(pod, actualResources));
}

/**
 * The pod-level resources. A container without a limit of its own runs with the pod's limit, so its actual limit is the one that
 * was allocated to the pod; if it runs without a limit, the pod had no pod-level resources.
 */
function ownOf(pod: Pod, actualResources: AllocatedTo): ContainerResources | undefined {
  let own: ContainerResources | undefined = pod.spec?.resources;
  for (const container of resizableContainers(pod)) {
    const actual = actualResources(container.name);
    for (const name of actual === undefined ? [] : RESIZABLE) {
      if (own?.limits?.[name] === undefined || container.resources?.limits?.[name] !== undefined) continue;
      const limit = actual?.limits?.[name];
      if (limit === undefined) return undefined;
      own = withLimit(own, name, limit);
    }
  }
  return own;
}

/** A request that equals the limit gets the new limit too. */
function withLimit({ requests, limits }: ContainerResources, name: Resizable, limit: string): ContainerResources {
  const bound = requests?.[name] !== undefined && requests[name] === limits?.[name];
  return {
    ...(requests && { requests: bound ? { ...requests, [name]: limit } : requests }),
    limits: { ...limits, [name]: limit },
  };
}
