/**
 * Decides whether the node admits a pod: asks node shutdown, eviction, the container manager and the predicates, in
 * this order. For a critical pod that only lacks resources, preemption frees them. Upstream: canAdmitPod with its
 * PodAdmitHandlers in pkg/kubelet/kubelet.go.
 */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { AllocationManager } from '../allocation/allocation-manager.ts';
import type { ContainerManager } from '../container-manager/container-manager.ts';
import type { EvictionManager } from '../eviction/eviction-manager.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { NodeShutdownManager } from '../node-shutdown/node-shutdown-manager.ts';
import type { Preemption } from '../preemption/preemption.ts';
import { isCriticalPod } from '../types/pod-update.ts';
import { canAdmitPod, type AdmissionResult, type OtherPods } from './predicate.ts';

export interface PodAdmissionDeps {
  readonly shutdownManager: Pick<NodeShutdownManager, 'admit'> | undefined;
  readonly evictionManager: Pick<EvictionManager, 'admit'> | undefined;
  readonly containerManager: Pick<ContainerManager, 'allocatesFor' | 'admit' | 'sanitizeNodeAllocatable'>;
  readonly allocationManager: Pick<AllocationManager, 'allocatedPod'>;
  readonly preemption: Preemption;
  /** The Node object; undefined before registration. */
  readonly node: () => Node | undefined;
}

type PodAdmissionConfig = Pick<
  KubeletConfiguration,
  'allowedUnsafeSysctls' | 'allowedHostNamespaceSources' | 'declaredFeatures'
>;

/** A promise where plugins or preempted pods must be waited for. */
export type PodAdmission = (pod: Pod, others: OtherPods) => AdmissionResult | Promise<AdmissionResult>;

export function createPodAdmission(deps: PodAdmissionDeps, config: PodAdmissionConfig): PodAdmission {
  const { shutdownManager, evictionManager, containerManager, allocationManager, preemption } = deps;

  function checkPredicates(pod: Pod, others: OtherPods): AdmissionResult | Promise<AdmissionResult> {
    const result = canAdmitPod({
      pod,
      node: containerManager.sanitizeNodeAllocatable(deps.node(), pod),
      others,
      operatingSystem: 'linux',
      allowedUnsafeSysctls: config.allowedUnsafeSysctls,
      hostNamespaceSources: config.allowedHostNamespaceSources,
      declaredFeatures: config.declaredFeatures,
    });
    if (result.admit || result.lacking === undefined || !isCriticalPod(pod)) return result;
    return preemption.makeRoom(pod, result.lacking);
  }

  return (pod, others) => {
    for (const result of [shutdownManager?.admit(), evictionManager?.admit(pod)])
      if (result?.admit === false) return result;
    const allocated = allocationManager.allocatedPod(pod);
    const allocatedOthers = (): Pod[] => others.active().map((other) => allocationManager.allocatedPod(other));
    if (!containerManager.allocatesFor(allocated))
      return checkPredicates(allocated, { count: others.count, active: allocatedOthers });
    // Listed before the wait: pods that arrive during it already count this pod.
    const active = others.active();
    return containerManager.admit(allocated).then((result) =>
      result.admit
        ? checkPredicates(allocated, {
            count: others.count,
            active: () => active.map((other) => allocationManager.allocatedPod(other)),
          })
        : result,
    );
  };
}
