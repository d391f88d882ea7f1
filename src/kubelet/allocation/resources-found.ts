/** What a pod was given as its running containers tell it, for pods of which nothing is kept. Pure. */
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

/** What a running container of this name was given; undefined: none runs, or it is not known. */
export type GivenTo = (name: string) => ContainerResources | undefined;

/** The pod with what its containers were given, and with what they tell of the pod's own resources. */
export function withFoundResources(pod: Pod, actualResources: GivenTo): Pod {
  const found: Record<string, ContainerResources> = {};
  for (const container of resizableContainers(pod)) {
    const actual = actualResources(container.name);
    if (actual !== undefined) found[container.name] = ownResources(container, actual);
  }
  return withPodLevelResources(withContainerResources(pod, found), ownOf(pod, actualResources));
}

/** Containers without a limit have their pod's: where theirs is another, so was the pod's; where they have none, it began without. */
function ownOf(pod: Pod, actualResources: GivenTo): ContainerResources | undefined {
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

/** A request that is the limit goes with it. */
function withLimit({ requests, limits }: ContainerResources, name: Resizable, limit: string): ContainerResources {
  const bound = requests?.[name] !== undefined && requests[name] === limits?.[name];
  return {
    ...(requests && { requests: bound ? { ...requests, [name]: limit } : requests }),
    limits: { ...limits, [name]: limit },
  };
}
