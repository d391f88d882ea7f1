/** The dependencies of the syncs of a running, a terminating and a terminated pod. */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { AllocationManager } from '../allocation/allocation-manager.ts';
import type { ContainerManager } from '../container-manager/container-manager.ts';
import type { PodContainerManager } from '../cgroups/pod-container-manager.ts';
import type { ContainerRuntime, PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import type { RuntimeState } from '../node-status/runtime-state.ts';
import type { PodCache } from '../container/pod-cache.ts';
import type { PodStarts } from '../metrics/pod-starts.ts';
import type { PodDirectories } from '../pod/pod-directories.ts';
import type { PodStartSteps } from '../pod/start-steps.ts';
import type { ProbeManager } from '../prober/prober-manager.ts';
import type { PullSecrets } from './pull-secrets.ts';
import type { ReasonCache } from '../status/reason-cache.ts';
import type { StatusManager } from '../status/status-manager.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';

export interface SyncPodDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  readonly runtime: ContainerRuntime;
  readonly podCache: PodCache;
  readonly podContainers: PodContainerManager;
  readonly volumes: VolumeManager;
  readonly directories: PodDirectories;
  readonly statusManager: StatusManager;
  readonly probeManager: ProbeManager;
  readonly reasonCache: ReasonCache;
  readonly runtimeState: RuntimeState;
  readonly pullSecrets: PullSecrets;
  readonly allocations: AllocationManager;
  /** Drivers prepare and unprepare the pod's claims. */
  readonly dynamicResources: Pick<ContainerManager, 'prepareDynamicResources' | 'unprepareDynamicResources'>;
  readonly reconcileMirrorPod: (pod: Pod, mirrorPod: Pod | undefined) => Promise<void>;
  readonly isPodTerminationRequested: (uid: string) => boolean;
  /** Holds runtime events of the pod while its worker changes containers. Not in upstream. */
  readonly holdEvents: (uid: string) => () => void;
  readonly podStarts: Pick<PodStarts, 'reported'>;
  readonly startSteps: Pick<PodStartSteps, 'syncPod' | 'backsOff'>;
  readonly generateStatus: (pod: Pod, runtimeStatus: RuntimePodStatus, podIsTerminal: boolean) => PodStatus;
}
