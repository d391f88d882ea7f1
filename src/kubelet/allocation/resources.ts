/** CPU and memory of containers as in-place resize sees them. Pure. */
import { podContainers } from '../../api/pod-containers.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { compareQuantities } from '../../api/quantity.ts';

/** Requests and limits of one container. */
export interface ContainerResources {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

/** The resources that can be resized. */
export const RESIZABLE = ['cpu', 'memory'] as const;

/** A resource that can be resized. */
export type Resizable = (typeof RESIZABLE)[number];

/** Resources of which request or limit differ. */
export function changedResources(a: ContainerResources, b: ContainerResources): Resizable[] {
  const same = (x: string | undefined, y: string | undefined): boolean =>
    x === undefined || y === undefined ? x === y : compareQuantities(x, y) === 0;
  return RESIZABLE.filter(
    (name) => !same(a.requests?.[name], b.requests?.[name]) || !same(a.limits?.[name], b.limits?.[name]),
  );
}

/** Containers whose resources may change while they run. */
export function resizableContainers({ spec }: Pod): readonly Container[] {
  return podContainers(spec);
}

/** The pod with these resources in place of its containers' own; containers not named keep theirs. */
export function withContainerResources(pod: Pod, resources: Readonly<Record<string, ContainerResources>>): Pod {
  const replace = (container: Container): Container => {
    const current = Object.hasOwn(resources, container.name) ? resources[container.name] : undefined;
    if (current === undefined || changedResources(container.resources ?? {}, current).length === 0) return container;
    return { ...container, resources: resourcesInForce(container.resources ?? {}, current) };
  };
  const { containers = [], initContainers } = pod.spec ?? {};
  const replaced = containers.map(replace);
  const init = initContainers?.map(replace);
  const isSame = replaced.every((one, at) => one === containers[at]);
  if (isSame && (init ?? []).every((one, at) => one === initContainers?.[at])) return pod;
  return {
    ...pod,
    spec: { ...pod.spec!, containers: replaced, ...(init === undefined ? {} : { initContainers: init }) },
  };
}

/**
 * The resources that limit a container: its own, and the pod's limits where it has none. Upstream: getCPULimit,
 * getMemoryLimit.
 */
export function resourcesInPod({ spec }: Pod, { resources = {} }: Container): ContainerResources {
  const ofPod = resizableOnly(spec?.resources?.limits);
  if (Object.keys(ofPod).length === 0) return resources;
  return { ...resources, limits: { ...ofPod, ...resources.limits } };
}

/** These resources without those that come from the pod's limits. */
export function ownResources(
  { resources }: Pick<Container, 'resources'>,
  current: ContainerResources,
): ContainerResources {
  const own = resources?.limits ?? {};
  const limits = Object.entries(current.limits ?? {}).filter(([name]) => own[name] !== undefined);
  const { limits: _limits, ...rest } = current;
  return limits.length === 0 ? rest : { ...rest, limits: Object.fromEntries(limits) };
}

/** The pod with these pod-level resources; undefined: none. */
export function withPodLevelResources(pod: Pod, current: ContainerResources | undefined): Pod {
  const own = pod.spec?.resources;
  if (own === undefined && current === undefined) return pod;
  if (own !== undefined && current !== undefined && changedResources(own, current).length === 0) return pod;
  const { resources: _resources, ...spec } = pod.spec!;
  return { ...pod, spec: current === undefined ? spec : { ...spec, resources: resourcesInForce(own ?? {}, current) } };
}

/** CPU and memory of the allocation; other resources cannot be resized and are kept. */
export function resourcesInForce<T extends ContainerResources>(
  allocated: T,
  current: ContainerResources,
): Omit<T, 'requests' | 'limits'> & { requests?: Record<string, string>; limits?: Record<string, string> } {
  const list = (kind: 'requests' | 'limits'): Record<string, string> => {
    const others = Object.entries(allocated[kind] ?? {}).filter(([name]) => !RESIZABLE.includes(name as Resizable));
    return { ...Object.fromEntries(others), ...resizableOnly(current[kind]) };
  };
  const { requests: _requests, limits: _limits, ...rest } = allocated;
  const [requests, limits] = [list('requests'), list('limits')];
  return {
    ...rest,
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}

function resizableOnly(list: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(list ?? {}).filter(([name]) => RESIZABLE.includes(name as Resizable)));
}

/** Only CPU and memory, as the checkpoint stores them. */
export function resourcesToKeep({ requests, limits }: ContainerResources): ContainerResources {
  const [keptRequests, keptLimits] = [resizableOnly(requests), resizableOnly(limits)];
  return {
    ...(Object.keys(keptRequests).length === 0 ? {} : { requests: keptRequests }),
    ...(Object.keys(keptLimits).length === 0 ? {} : { limits: keptLimits }),
  };
}
