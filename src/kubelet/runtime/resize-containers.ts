/**
 * Resizes running containers without a restart. Increases are applied to the pod first and decreases to the pod last,
 * so that no container is ever limited below its allocation. Before the first write it checks that no memory limit
 * would be below the current usage. Upstream: doPodResizeAction and validateMemoryResizeAction in
 * kuberuntime_manager.go.
 */
import { podName, podUid } from '../types/pod-update.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { compareQuantities, quantityValue } from '../../api/quantity.ts';
import { aggregateText } from '../../base/errors.ts';
import {
  changedResources,
  ownResources,
  resourcesInPod,
  withContainerResources,
  withPodLevelResources,
  type ContainerResources,
} from '../allocation/resources.ts';
import type { SyncStep } from '../container/runtime.ts';
import { containerResources } from './linux-resources.ts';
import { runtimeErrorMessage, type RuntimeContext } from './runtime-context.ts';

export interface ContainerResize {
  readonly id: string;
  readonly container: Container;
  readonly before: ContainerResources;
}

/** The resize of a pod: its containers, and its former pod-level resources if those change. */
export interface PodResize {
  readonly containers: readonly ContainerResize[];
  readonly podBefore?: ContainerResources;
}

/** The steps of a pod's resize; undefined: none. A resize whose last step failed is repeated. */
export function computeResize(
  pod: Pod,
  containers: readonly ContainerResize[],
  context: RuntimeContext,
): PodResize | undefined {
  const podBefore = resizeOfPod(pod, context);
  const settled = context.actuated?.isResizeComplete(podUid(pod)) ?? true;
  if (containers.length === 0 && podBefore === undefined && settled) return undefined;
  return { containers, podBefore };
}

/** The pod-level change; undefined when the cgroup is up to date or its resources are unknown. */
function resizeOfPod({ metadata, spec }: Pod, { actuated }: RuntimeContext): ContainerResources | undefined {
  const before = actuated?.actuatedPod(metadata.uid ?? '');
  return before === undefined || changedResources(spec?.resources ?? {}, before).length === 0 ? undefined : before;
}

/** Resizes all containers. Failures are recorded in the steps. */
export async function resizePod(pod: Pod, resize: PodResize, context: RuntimeContext): Promise<SyncStep[]> {
  const target = podName(pod);
  const fail = (error: unknown): SyncStep[] => [
    { action: 'ResizePod', target, reason: 'ResizePodInPlaceError', message: runtimeErrorMessage(error) },
  ];
  const uid = podUid(pod);
  try {
    await refuseMemoryBelowUse(pod, resize, context);
    await context.podContainers.updatePodCgroup(largest(pod, resize));
    for (const { id, container } of resize.containers) {
      const linux = containerResources(pod, container, context.resources);
      await context.cri.runtime.updateContainerResources({
        containerId: id,
        linux: withoutUnlimited(linux),
        annotations: {},
      });
      await context.actuated?.setActuated(uid, id, resourcesInPod(pod, container));
    }
    await context.podContainers.updatePodCgroup(pod);
    if (resize.podBefore !== undefined) await context.actuated?.setActuatedPod(uid, pod.spec?.resources ?? {});
    await context.actuated?.setResizeComplete(uid);
  } catch (error) {
    return fail(error);
  }
  return [{ action: 'ResizePod', target }];
}

/** Fails when a new limit is below the current usage, since the kernel would kill processes. */
async function refuseMemoryBelowUse(pod: Pod, { containers }: PodResize, context: RuntimeContext): Promise<void> {
  const refusals = [await context.podContainers.memoryRefusal(pod)];
  for (const resize of containers) refusals.push(await containerRefusal(pod, resize, context));
  const reasons = refusals.filter((refusal) => refusal !== undefined);
  if (reasons.length === 0) return;
  throw new Error(`cannot decrease memory limits: ${aggregateText(reasons)}`);
}

async function containerRefusal(
  pod: Pod,
  { id, container, before }: ContainerResize,
  { cri }: RuntimeContext,
): Promise<string | undefined> {
  const [was, wanted] = [before.limits?.['memory'], resourcesInPod(pod, container).limits?.['memory']];
  if (wanted === undefined || (was !== undefined && compareQuantities(wanted, was) >= 0)) return undefined;
  const usage = (await cri.runtime.containerStats({ containerId: id })).stats?.memory?.usageBytes?.value;
  if (usage === undefined) return `missing container "${container.name}" memory usage`;
  const limit = quantityValue(wanted);
  if (usage < limit) return undefined;
  return `attempting to set container "${container.name}" memory limit (${limit}) below current usage (${usage})`;
}

/** A CRI update keeps fields it does not name, so a removed limit is written as unlimited. */
function withoutUnlimited<T extends { readonly cpuQuota?: number }>(linux: T): T {
  return linux.cpuQuota === undefined ? { ...linux, cpuQuota: -1 } : linux;
}

/** The pod with the larger of old and new resources, for each container and at pod level. */
function largest(pod: Pod, { containers, podBefore }: PodResize): Pod {
  const entries = containers.map(({ container, before }) => [
    container.name,
    largerOf(ownResources(container, before), container.resources),
  ]);
  const grown = withContainerResources(pod, Object.fromEntries(entries) as Record<string, ContainerResources>);
  const own = pod.spec?.resources;
  return podBefore === undefined || own === undefined ? grown : withPodLevelResources(grown, largerOf(podBefore, own));
}

function largerOf(a: ContainerResources, b: ContainerResources = {}): ContainerResources {
  return { requests: larger(a.requests, b.requests), limits: larger(a.limits, b.limits) };
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
