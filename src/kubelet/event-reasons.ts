/**
 * Every reason of the kubelet's events, in upstream's words; the kubelet's recorder accepts no other. Upstream:
 * pkg/kubelet/events/event.go, and a few that other packages define.
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

/** Why a pod is not admitted; also the reason in its status. */
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

/** Changes of the node's status. */
export type NodeStatusReason =
  | 'NodeHasDiskPressure'
  | 'NodeHasInsufficientMemory'
  | 'NodeHasInsufficientPID'
  | 'NodeHasNoDiskPressure'
  | 'NodeHasSufficientMemory'
  | 'NodeHasSufficientPID'
  | 'NodeNotReady'
  | 'NodeNotSchedulable'
  | 'NodeReady'
  | 'NodeSchedulable'
  | 'Rebooted';

type NodeReason =
  | NodeStatusReason
  | 'ContainerGCFailed'
  | 'EvictionThresholdMet'
  | 'FailedNodeAllocatableEnforcement'
  | 'FreeDiskSpaceFailed'
  | 'ImageGCFailed'
  | 'InvalidDiskCapacity'
  | 'KeelsonRestarted'
  | 'NodeAllocatableEnforced'
  | 'Starting'
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
