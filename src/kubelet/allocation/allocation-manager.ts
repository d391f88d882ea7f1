/**
 * Decides on changed resources of running pods: a change that fits is allocated and then carried out, one that does not
 * fit now is deferred, one that can never fit here is infeasible. Upstream: pkg/kubelet/allocation/allocation_manager.go.
 */
import { firstByName } from '../../base/first-by.ts';
import type { Node, Pod, PodCondition } from '../../api/gen/core-v1.ts';
import { addAmounts, amountsOf, emptyAmounts, podRequests } from '../../component-helpers/pod-resources.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { ContainerStatus, PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import { isStaticPod, podUid } from '../types/pod-update.ts';
import type { AllocationState } from './allocation-state.ts';
import { resizeMessage } from './resize-message.ts';
import { withFoundResources } from './resources-found.ts';
import {
  changedResources,
  resizableContainers,
  resourcesInPod,
  resourcesToKeep,
  withContainerResources,
  withPodLevelResources,
  type ContainerResources,
} from './resources.ts';

export interface AllocationDeps {
  readonly state: AllocationState;
  readonly recorder: KubeletEventRecorder;
  readonly node: () => Node | undefined;
  /** Pods that hold resources. */
  readonly activePods: () => readonly Pod[];
  /** Why no resource of the pod can change on this node; undefined when they can. */
  readonly infeasible?: (pod: Pod) => string | undefined;
  /** Why no pod's memory can change on this node; undefined when it can. */
  readonly memoryInfeasible?: string;
}

export interface AllocationManager {
  /** The pod with its allocated resources, with which everything on the node works. */
  allocatedPod(pod: Pod): Pod;
  /** Decides on a resize of the pod; returns it with its allocated resources. */
  resolve(pod: Pod, seen: RuntimePodStatus): Promise<Pod>;
  /** The resources that the container was last configured with. */
  actuated(status: ContainerStatus): ContainerResources | undefined;
  /** The pod-level resources that were last configured; undefined: unknown, and nothing is changed. */
  actuatedPod(uid: string): ContainerResources | undefined;
  /** Records that the pod's cgroup was configured with these resources. */
  setActuatedPod(uid: string, resources: ContainerResources): Promise<void>;
  /** Records that a running container was configured with these resources. */
  setActuated(uid: string, containerId: string, resources: ContainerResources): Promise<void>;
  /** Records why a resize failed; undefined: it succeeded. */
  setResizeFailure(pod: Pod, message: string | undefined): void;
  /** Whether no resize of the pod is left to carry out. */
  isResizeComplete(uid: string): boolean;
  setResizeComplete(uid: string): Promise<void>;
  /** PodResizePending and PodResizeInProgress where they apply. */
  conditions(pod: Pod, seen: RuntimePodStatus): PodCondition[];
  /** Whether a resize of the pod waits until the node has free resources. */
  isDeferred(uid: string): boolean;
  forget(uid: string): Promise<void>;
}

interface Pending {
  readonly reason: 'Deferred' | 'Infeasible';
  readonly message: string;
}

export function createAllocationManager(deps: AllocationDeps): AllocationManager {
  return new PodAllocationManager(deps);
}

class PodAllocationManager implements AllocationManager {
  readonly #deps: AllocationDeps;
  readonly #pending = new Map<string, Pending>();
  readonly #failures = new Map<string, string>();
  readonly #inProgress = new Set<string>();
  /** Pods that were first seen without pod-level resources: any they have later are a resize. */
  readonly #withoutPodLevel = new Set<string>();

  constructor(deps: AllocationDeps) {
    this.#deps = deps;
  }

  actuated(status: ContainerStatus): ContainerResources | undefined {
    return this.#deps.state.actuated(status.id) ?? status.madeWith;
  }

  allocatedPod(pod: Pod): Pod {
    const allocated = this.#deps.state.allocated(podUid(pod));
    if (allocated === undefined) return pod;
    return withPodLevelResources(withContainerResources(pod, allocated), this.#deps.state.allocatedPod(podUid(pod)));
  }

  actuatedPod(uid: string): ContainerResources | undefined {
    return this.#deps.state.allocated(uid) === undefined ? undefined : (this.#deps.state.actuatedPod(uid) ?? {});
  }

  async resolve(pod: Pod, seen: RuntimePodStatus): Promise<Pod> {
    const isAllocated = this.#deps.state.allocated(podUid(pod)) !== undefined;
    const allocated = isAllocated ? this.allocatedPod(pod) : this.#withActuated(pod, seen);
    const podLevel = allocated.spec?.resources !== undefined;
    if (!isAllocated && podLevel) await this.#saveFirstAllocation(allocated, seen);
    if (allocated === pod) {
      this.#pending.delete(podUid(pod));
      if (!podLevel) this.#withoutPodLevel.add(podUid(pod));
      return pod;
    }
    const pending = this.#canResizePod(pod, allocated);
    if (pending === undefined) {
      this.#pending.delete(podUid(pod));
      await this.#allocate(pod);
      return pod;
    }
    this.#setPending(pod, pending);
    // Other pods must not count resources that are only requested.
    if (!isAllocated && !podLevel) await this.#saveAllocation(allocated);
    return allocated;
  }

  setActuatedPod(uid: string, resources: ContainerResources): Promise<void> {
    return this.#deps.state.setActuatedPod(uid, resourcesToKeep(resources));
  }

  setActuated(uid: string, containerId: string, resources: ContainerResources): Promise<void> {
    return this.#deps.state.setActuated(uid, containerId, resourcesToKeep(resources));
  }

  setResizeFailure(pod: Pod, message: string | undefined): void {
    if (message === undefined) {
      this.#failures.delete(podUid(pod));
      return;
    }
    this.#failures.set(podUid(pod), message);
    this.#deps.recorder.event(pod, 'Warning', 'ResizeError', resizeMessage('error', pod, message));
  }

  isResizeComplete(uid: string): boolean {
    return this.#deps.state.settled(uid);
  }

  setResizeComplete(uid: string): Promise<void> {
    return this.#deps.state.setSettled(uid, true);
  }

  isDeferred(uid: string): boolean {
    return this.#pending.get(uid)?.reason === 'Deferred';
  }

  conditions(pod: Pod, seen: RuntimePodStatus): PodCondition[] {
    const uid = podUid(pod);
    const generation = pod.metadata.generation;
    const base = { status: 'True', ...(generation === undefined ? {} : { observedGeneration: generation }) };
    const pending = this.#pending.get(uid);
    const failure = this.#failures.get(uid);
    const isInProgress = failure !== undefined || this.#isUnfinished(this.allocatedPod(pod), seen);
    if (!isInProgress && this.#inProgress.delete(uid))
      this.#deps.recorder.event(pod, 'Normal', 'ResizeCompleted', resizeMessage('completed', this.allocatedPod(pod)));
    return [
      ...(pending === undefined ? [] : [{ ...base, type: 'PodResizePending', ...pending }]),
      ...(isInProgress
        ? [
            {
              ...base,
              type: 'PodResizeInProgress',
              // Without a failure neither reason nor message: autoscalers take any other reason for a failure.
              ...(failure === undefined ? {} : { reason: 'Error', message: failure }),
            },
          ]
        : []),
    ];
  }

  async forget(uid: string): Promise<void> {
    this.#pending.delete(uid);
    this.#failures.delete(uid);
    this.#inProgress.delete(uid);
    this.#withoutPodLevel.delete(uid);
    await this.#deps.state.forget(uid);
  }

  /** The pod's allocation by its running containers, where none is recorded. */
  #withActuated(pod: Pod, seen: RuntimePodStatus): Pod {
    const statuses = firstByName(seen.containers);
    const allocated = withFoundResources(pod, (name) => {
      const status = statuses.get(name);
      return status?.state === 'running' ? this.actuated(status) : undefined;
    });
    return this.#withoutPodLevel.has(podUid(pod)) ? withPodLevelResources(allocated, undefined) : allocated;
  }

  /** Why the resize cannot be allocated now; undefined when it can. */
  #canResizePod(pod: Pod, allocated: Pod): Pending | undefined {
    const infeasible = this.#deps.infeasible?.(pod);
    if (infeasible !== undefined) return { reason: 'Infeasible', message: infeasible };
    const memory = this.#memoryInfeasible(pod, allocated);
    if (memory !== undefined) return memory;
    if (isStaticPod(pod)) return { reason: 'Infeasible', message: 'In-place resize of static-pods is not supported' };
    const allocatable = this.#deps.node()?.status?.allocatable;
    if (allocatable === undefined) return undefined;
    const capacity = amountsOf(allocatable);
    const requested = podRequests(withoutStatus(pod)).requests;
    for (const [name, key] of [
      ['cpu', 'milliCpu'],
      ['memory', 'memoryBytes'],
    ] as const) {
      if (requested[key] > capacity[key])
        return {
          reason: 'Infeasible',
          message: `Node didn't have enough capacity: ${name}, requested: ${requested[key]}, capacity: ${capacity[key]}`,
        };
    }
    const used = emptyAmounts();
    for (const other of this.#deps.activePods())
      if (podUid(other) !== podUid(pod))
        addAmounts(used, podRequests(withoutStatus(this.allocatedPod(other))).requests);
    for (const [name, key] of [
      ['cpu', 'milliCpu'],
      ['memory', 'memoryBytes'],
    ] as const) {
      if (requested[key] > capacity[key] - used[key])
        return {
          reason: 'Deferred',
          message: `Node didn't have enough resource: ${name}, requested: ${requested[key]}, used: ${used[key]}, capacity: ${capacity[key]}`,
        };
    }
    return undefined;
  }

  #memoryInfeasible(pod: Pod, allocated: Pod): Pending | undefined {
    if (this.#deps.memoryInfeasible === undefined) return undefined;
    const before = new Map(
      resizableContainers(allocated).map((container) => [container.name, container.resources ?? {}]),
    );
    const memory = resizableContainers(pod).some(({ name, resources }) =>
      changedResources(resources ?? {}, before.get(name) ?? {}).includes('memory'),
    );
    const podLevel = changedResources(pod.spec?.resources ?? {}, allocated.spec?.resources ?? {}).includes('memory');
    return memory || podLevel ? { reason: 'Infeasible', message: this.#deps.memoryInfeasible } : undefined;
  }

  #saveAllocation(pod: Pod): Promise<void> {
    const resources = resizableContainers(pod).map(
      (container) => [container.name, resourcesToKeep(container.resources ?? {})] as const,
    );
    const own = pod.spec?.resources;
    return this.#deps.state.setAllocated(podUid(pod), Object.fromEntries(resources), own && resourcesToKeep(own));
  }

  /** Records the pod-level resources, which a later resize is compared with. */
  async #saveFirstAllocation(pod: Pod, seen: RuntimePodStatus): Promise<void> {
    // A new pod's cgroup is created with these resources. Those of a running pod's cgroup are not known.
    if (seen.containers.some(({ state }) => state === 'running')) await this.#deps.state.setSettled(podUid(pod), false);
    await this.#deps.state.setActuatedPod(podUid(pod), resourcesToKeep(pod.spec!.resources!));
    await this.#saveAllocation(pod);
  }

  async #allocate(pod: Pod): Promise<void> {
    await this.#deps.state.setSettled(podUid(pod), false);
    await this.#saveAllocation(pod);
    this.#failures.delete(podUid(pod));
    this.#inProgress.add(podUid(pod));
    this.#deps.recorder.event(pod, 'Normal', 'ResizeStarted', resizeMessage('started', pod));
  }

  #setPending(pod: Pod, pending: Pending): void {
    const before = this.#pending.get(podUid(pod));
    this.#pending.set(podUid(pod), pending);
    if (before?.reason === pending.reason && before.message === pending.message) return;
    this.#deps.recorder.event(
      pod,
      'Warning',
      `Resize${pending.reason}`,
      resizeMessage(pending.reason, pod, pending.message),
    );
  }

  #isUnfinished(pod: Pod, seen: RuntimePodStatus): boolean {
    const podLevel = this.actuatedPod(podUid(pod));
    if (podLevel !== undefined && changedResources(pod.spec?.resources ?? {}, podLevel).length > 0) return true;
    const statuses = firstByName(seen.containers);
    return resizableContainers(pod).some((container) => {
      const status = statuses.get(container.name);
      const actuated = status?.state === 'running' ? this.actuated(status) : undefined;
      return actuated !== undefined && changedResources(resourcesInPod(pod, container), actuated).length > 0;
    });
  }
}

/** `podRequests` counts the status too; admission of a resize compares specs alone. */
function withoutStatus({ status: _status, ...pod }: Pod): Pod {
  return pod;
}
