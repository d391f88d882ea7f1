/**
 * Gives running containers other limits without a restart. What grows is raised at the pod first, what shrinks is lowered
 * at the pod last, so that no container is ever held below what it was promised. Upstream: doPodResizeAction in
 * kuberuntime_manager.go.
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { compareQuantities } from '../../api/quantity.ts';
import { withContainerResources, type ContainerResources } from '../allocation/resources.ts';
import type { SyncStep } from '../container/runtime.ts';
import { containerResources } from './linux-resources.ts';
import { messageOf, type RuntimeContext } from './runtime-context.ts';

/** One container's change. */
export interface ContainerResize {
  readonly id: string;
  readonly container: Container;
  readonly before: ContainerResources;
}

/** Resizes all; what failed stands in the steps. */
export async function resizeContainers(
  pod: Pod,
  resizes: readonly ContainerResize[],
  context: RuntimeContext,
): Promise<SyncStep[]> {
  const target = pod.metadata.name ?? '';
  const fail = (error: unknown): SyncStep[] => [
    { action: 'ResizePod', target, reason: 'ResizePodInPlaceError', message: messageOf(error) },
  ];
  try {
    await context.podContainers.updatePodCgroup(largest(pod, resizes));
    for (const { id, container } of resizes) {
      const linux = containerResources(pod, container, context.resources);
      await context.cri.runtime.updateContainerResources({
        containerId: id,
        linux: withoutUnlimited(linux),
        annotations: {},
      });
      await context.actuated?.noteActuated(pod.metadata.uid ?? '', id, container.resources ?? {});
    }
    await context.podContainers.updatePodCgroup(pod);
  } catch (error) {
    return fail(error);
  }
  return [{ action: 'ResizePod', target }];
}

/** An update keeps what it does not name: a limit that was taken away is named as none. */
function withoutUnlimited<T extends { readonly cpuQuota?: number }>(linux: T): T {
  return linux.cpuQuota === undefined ? { ...linux, cpuQuota: -1 } : linux;
}

/** The pod with the larger of old and new for each container. */
function largest(pod: Pod, resizes: readonly ContainerResize[]): Pod {
  const entries = resizes.map(({ container, before }) => [
    container.name,
    {
      requests: larger(before.requests, container.resources?.requests),
      limits: larger(before.limits, container.resources?.limits),
    },
  ]);
  return withContainerResources(pod, Object.fromEntries(entries) as Record<string, ContainerResources>);
}

function larger(
  a: Readonly<Record<string, string>> = {},
  b: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries(
    [...names].flatMap((name): [string, string][] => {
      const [x, y] = [a[name], b[name]];
      if (x === undefined || y === undefined) return [[name, (x ?? y) as string]];
      return [[name, compareQuantities(x, y) >= 0 ? x : y]];
    }),
  );
}
