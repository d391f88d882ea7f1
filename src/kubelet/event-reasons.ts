/**
 * Every reason an event of the kubelet can bear: one list in upstream's words, which the kubelet's recorder takes and no
 * other. Upstream: pkg/kubelet/events/event.go, and the few that its parts name themselves.
 */
import type { KubernetesObject } from '../api/object.ts';
import type { EventTarget } from '../client/event-recorder.ts';

/** Reasons of events about containers and their images. */
type ContainerReason =
  | 'BackOff'
  | 'Created'
  | 'ErrImageNeverPull'
  | 'Failed'
  | 'FailedPostStartHook'
  | 'FailedPreStopHook'
  | 'InspectFailed'
  | 'InvalidEnvironmentVariableNames'
  | 'Killing'
  | 'ProbeWarning'
  | 'Pulled'
  | 'Pulling'
  | 'Started'
  | 'Unhealthy';

type PodReason =
  | 'DNSConfigForming'
  | 'DeadlineExceeded'
  | 'Evicted'
  | 'FailedCreatePodContainer'
  | 'FailedCreatePodSandBox'
  | 'FailedKillPod'
  | 'FailedMount'
  | 'FailedPrepareDynamicResources'
  | 'FailedSync'
  | 'FailedToRetrieveImagePullSecret'
  | 'FileSystemResizeSuccessful'
  | 'MissingClusterDNS'
  | 'NetworkNotReady'
  | 'Preempting'
  | 'ResizeCompleted'
  | 'ResizeDeferred'
  | 'ResizeError'
  | 'ResizeInfeasible'
  | 'ResizeStarted'
  | 'SandboxChanged'
  | 'VolumeResizeFailed';

/** Why a pod is not taken: reason of its status too. */
export type AdmissionReason =
  | `OutOf${string}`
  | 'Evicted'
  | 'HostNamespaceForbidden'
  | 'NodeAffinity'
  | 'NodePorts'
  | 'NodeShutdown'
  | 'PodFeatureUnsupported'
  | 'PodOSNotSupported'
  | 'PodOSSelectorNodeLabelDoesNotMatch'
  | 'SMTAlignmentError'
  | 'SysctlForbidden'
  | 'TaintToleration'
  | 'TopologyAffinityError'
  | 'UnexpectedAdmissionError';

type NodeReason =
  | 'ContainerGCFailed'
  | 'EvictionThresholdMet'
  | 'FailedNodeAllocatableEnforcement'
  | 'FreeDiskSpaceFailed'
  | 'ImageGCFailed'
  | 'InvalidDiskCapacity'
  | 'KeelsonRestarted'
  | 'NodeAllocatableEnforced'
  | 'NodeHasDiskPressure'
  | 'NodeHasInsufficientMemory'
  | 'NodeHasInsufficientPID'
  | 'NodeHasNoDiskPressure'
  | 'NodeHasSufficientMemory'
  | 'NodeHasSufficientPID'
  | 'Starting'
  | 'NodeNotReady'
  | 'NodeNotSchedulable'
  | 'NodeReady'
  | 'NodeSchedulable'
  | 'Rebooted'
  | 'Shutdown'
  | 'SystemOOM';

export type KubeletEventReason = ContainerReason | PodReason | AdmissionReason | NodeReason;

/** The recorder of the kubelet's parts: see `EventRecorder`. */
export interface KubeletEventRecorder {
  event(
    target: KubernetesObject | EventTarget,
    type: 'Normal' | 'Warning',
    reason: KubeletEventReason,
    message: string,
  ): void;
}
