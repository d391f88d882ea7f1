/**
 * The API status of a pod from the runtime's status, the previous status and the probes' results. Pure: the status
 * manager sets times that depend on "now". Upstream: generateAPIPodStatus and convertStatusToAPIStatus in
 * pkg/kubelet/kubelet_pods.go.
 */
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import type { PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import { isHostNetworkPod, isKubeletCondition } from '../types/pod-update.ts';
import {
  containersReadyCondition,
  podInitializedCondition,
  podReadyCondition,
  podReadyToStartContainersCondition,
  podScheduledCondition,
} from './conditions.ts';
import { generateContainerStatuses, type ContainerStatusesInput } from './container-statuses.ts';
import { getPhase } from './phase.ts';
import type { StartReason } from './reason-cache.ts';

/** Why a pod must be terminated: eviction or its deadline. */
export interface EvictVerdict {
  readonly reason: string;
  readonly message: string;
}

export interface GenerateInput {
  readonly pod: Pod;
  readonly runtimeStatus: RuntimePodStatus;
  /** The status manager's newest, otherwise the pod's own. */
  readonly previous: PodStatus;
  /** No container runs or will run any more. */
  readonly podIsTerminal: boolean;
  readonly runtimeName: string;
  readonly nodeIps: readonly string[];
  readonly qosClass: string;
  readonly startReason: (containerName: string) => StartReason | undefined;
  readonly evict?: EvictVerdict | undefined;
  /** Resources that a container was last configured with; absent where they are not recorded. */
  readonly actuated?: ContainerStatusesInput['actuated'];
  readonly resourceHealth?: ContainerStatusesInput['resourceHealth'];
  /** Pod-level `resources` and `allocatedResources`. */
  readonly podResources?: Pick<PodStatus, 'resources' | 'allocatedResources'>;
  /** PodResizePending and PodResizeInProgress. */
  readonly resizeConditions?: readonly PodCondition[];
  /** Sets `ready` and `started` from the probes. Upstream: probeManager.UpdatePodStatus. */
  readonly applyProbes: (pod: Pod, status: PodStatus) => PodStatus;
}

export function generateApiPodStatus(input: GenerateInput): PodStatus {
  const { pod, previous } = input;
  let status = withContainers(input);
  status = input.applyProbes(pod, status);
  // Whether sidecars have started comes from their probes, so the phase is computed after them.
  status = withPhase(status, input);
  const conditions = conditionsOf(status, input);
  const generation = pod.metadata.generation;
  const kept = {
    ...(previous.startTime === undefined ? {} : { startTime: previous.startTime }),
    ...(previous.resourceClaimStatuses === undefined ? {} : { resourceClaimStatuses: previous.resourceClaimStatuses }),
    ...(previous.extendedResourceClaimStatus === undefined
      ? {}
      : { extendedResourceClaimStatus: previous.extendedResourceClaimStatus }),
    ...(previous.nominatedNodeName === undefined ? {} : { nominatedNodeName: previous.nominatedNodeName }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  return { ...kept, ...status, ...input.podResources, conditions, ...addresses(input) };
}

function withContainers(input: GenerateInput): PodStatus {
  const { pod, runtimeStatus, previous } = input;
  const { runtimeName, startReason, resourceHealth } = input;
  const common = { pod, runtimeStatus, runtimeName, startReason, resourceHealth };
  const init = generateContainerStatuses({
    ...common,
    kind: 'init',
    containers: pod.spec?.initContainers ?? [],
    previous: previous.initContainerStatuses ?? [],
  });
  const ephemeral = generateContainerStatuses({
    ...common,
    kind: 'ephemeral',
    containers: pod.spec?.ephemeralContainers ?? [],
    previous: previous.ephemeralContainerStatuses ?? [],
    // Ephemeral containers are never restarted.
  }).filter((status) => status.containerID !== undefined || status.state?.waiting !== undefined);
  return {
    containerStatuses: generateContainerStatuses({
      ...common,
      kind: 'container',
      containers: pod.spec?.containers ?? [],
      previous: previous.containerStatuses ?? [],
    }),
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
    qosClass: input.qosClass,
  };
}

function allStatuses(status: PodStatus): readonly ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}

/** A terminal phase never changes: an evicted pod stays Failed although its containers succeed. */
function withPhase(status: PodStatus, input: GenerateInput): PodStatus {
  const { pod, previous } = input;
  let phase: string = getPhase(pod, allStatuses(status), input.podIsTerminal);
  const reported = pod.status?.phase;
  if (isPodPhaseTerminal(previous.phase)) phase = previous.phase!;
  else if (!isPodPhaseTerminal(phase) && isPodPhaseTerminal(reported)) phase = reported!;
  let reason = '';
  let message = '';
  if (phase === previous.phase) {
    reason = previous.reason || pod.status?.reason || '';
    message = previous.message || pod.status?.message || '';
  }
  if (input.evict !== undefined) ({ reason, message } = input.evict);
  if (input.evict !== undefined) phase = 'Failed';
  if (isPodPhaseTerminal(reported)) phase = reported!;
  return { ...status, phase, ...(reason === '' ? {} : { reason }), ...(message === '' ? {} : { message }) };
}

function conditionsOf(status: PodStatus, input: GenerateInput): PodCondition[] {
  const { pod, runtimeStatus } = input;
  const foreign = (pod.status?.conditions ?? []).filter((condition) => !isKubeletCondition(condition.type));
  const evicted = (input.previous.conditions ?? []).filter(
    (condition) =>
      condition.type === 'DisruptionTarget' && !foreign.some((podCondition) => podCondition.type === condition.type),
  );
  const conditions = [...foreign, ...evicted];
  const state = { pod, statuses: allStatuses(status), phase: status.phase ?? 'Pending' };
  return [
    ...conditions,
    podReadyToStartContainersCondition(pod, runtimeStatus),
    podInitializedCondition(state),
    podReadyCondition(state, conditions),
    containersReadyCondition(state),
    podScheduledCondition(pod),
    ...(input.resizeConditions ?? []),
  ];
}

/** A pod keeps its addresses after its sandbox is gone. */
function addresses(input: GenerateInput): Partial<PodStatus> {
  const { pod, nodeIps, previous } = input;
  const hosts = nodeIps.length === 0 ? {} : { hostIP: nodeIps[0]!, hostIPs: nodeIps.map((ip) => ({ ip })) };
  let podIps = [...input.runtimeStatus.ips];
  if (isHostNetworkPod(pod))
    podIps = (previous.podIPs ?? []).length > 0 ? previous.podIPs!.map(({ ip }) => ip) : [...nodeIps];
  else if (podIps.length === 0 && input.podIsTerminal) podIps = (previous.podIPs ?? []).map(({ ip }) => ip);
  const pods = podIps.length === 0 ? {} : { podIP: podIps[0]!, podIPs: podIps.map((ip) => ({ ip })) };
  return { ...hosts, ...pods };
}
