/** Generates pod statuses from the kubelet's components. Upstream: the receiver side of generateAPIPodStatus. */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { Clock } from '../../platform/clock.ts';
import type { AllocationManager } from '../allocation/allocation-manager.ts';
import type { ContainerResources } from '../allocation/resources.ts';
import { DEADLINE_EXCEEDED, untilActiveDeadlineMs } from '../sync-pod/active-deadline.ts';
import type { ContainerStatus, PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import type { ProbeManager } from '../prober/prober-manager.ts';
import type { ResourceHealthOf } from '../device-manager/resource-health.ts';
import { podUid } from '../types/pod-update.ts';
import { generateApiPodStatus } from './generate.ts';
import { podResourcesStatus } from './pod-resources.ts';
import type { ReasonCache } from './reason-cache.ts';
import type { StatusManager } from './status-manager.ts';

/** The status of a pod from the runtime's status. */
export type GenerateStatus = (pod: Pod, runtimeStatus: RuntimePodStatus, podIsTerminal: boolean) => PodStatus;

export interface StatusGeneratorDeps {
  readonly clock: Clock;
  readonly recorder: KubeletEventRecorder;
  readonly statusManager: StatusManager;
  readonly probeManager: ProbeManager;
  readonly reasonCache: ReasonCache;
  readonly nodeIps: readonly string[];
  readonly runtimeName: () => string;
  /** Health of containers' devices; absent: not reported. */
  readonly resourceHealth?: ResourceHealthOf;
  readonly allocations: Pick<AllocationManager, 'actuated' | 'actuatedPod' | 'conditions' | 'allocatedPod'>;
}

/** A pod that exceeds its active deadline gets one event. */
export function createStatusGenerator(deps: StatusGeneratorDeps): GenerateStatus {
  return (pod, runtimeStatus, podIsTerminal) => {
    const previous = deps.statusManager.getPodStatus(podUid(pod)) ?? pod.status ?? {};
    const leftMs = untilActiveDeadlineMs(pod, previous, deps.clock.nowMs());
    const evict = leftMs !== undefined && leftMs <= 0 ? DEADLINE_EXCEEDED : undefined;
    if (evict !== undefined && previous.reason !== evict.reason && !isPodPhaseTerminal(previous.phase)) {
      deps.recorder.event(pod, 'Normal', evict.reason, evict.message);
    }
    const allocated = deps.allocations.allocatedPod(pod);
    const actuated = (container: ContainerStatus): ContainerResources | undefined =>
      deps.allocations.actuated(container);
    const actuatedPod = deps.allocations.actuatedPod(podUid(pod));
    return generateApiPodStatus({
      pod: allocated,
      runtimeStatus,
      previous,
      podIsTerminal,
      runtimeName: deps.runtimeName(),
      nodeIps: deps.nodeIps,
      qosClass: podQosClass(pod),
      startReason: (containerName) => deps.reasonCache.get(podUid(pod), containerName),
      evict,
      actuated,
      podResources: podResourcesStatus(allocated, { runtimeStatus, actuated, actuatedPod }),
      resizeConditions: podIsTerminal ? [] : deps.allocations.conditions(pod, runtimeStatus),
      resourceHealth: (container) => deps.resourceHealth?.(podUid(pod), container),
      applyProbes: (updatedPod, status) => deps.probeManager.updatePodStatus(updatedPod, status),
    });
  };
}
