/**
 * Contract between the kubelet's core (sync loop, pod workers, PLEG) and its container runtime manager.
 * Upstream: pkg/kubelet/container (Runtime, PodStatus, Pod) and kuberuntime behind it.
 */
import type { ContainerEnding, FailedPull } from '../../api/pod-node-state.ts';
import type { ContainerResources } from '../allocation/resources.ts';
import type { Pod, Secret } from '../../api/gen/core-v1.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';

/** State of a container in the runtime. */
export type ContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** One container's state, in upstream's terms (kubecontainer.Status). Times are wall-clock milliseconds, 0 when unknown. */
export interface ContainerStatus {
  /** The id without the scheme `containerd://`. */
  readonly id: string;
  readonly name: string;
  readonly state: ContainerState;
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly exitCode: number;
  readonly image: string;
  readonly imageId: string;
  readonly imageRef: string;
  /** Hash of the container spec at its creation (annotation io.kubernetes.container.hash). */
  readonly hash: string;
  readonly restartCount: number;
  readonly reason: string;
  /** Termination message from its file or the log, by terminationMessagePolicy. */
  readonly message: string;
  /** Sandbox it belongs to. */
  readonly podSandboxId: string;
  /** CPU and memory at its creation (annotation). */
  readonly madeWith?: ContainerResources;
  /** Limits and requests that the runtime reports, if any. */
  readonly resources?: {
    readonly cpuQuota?: number;
    readonly cpuPeriod?: number;
    readonly cpuShares?: number;
    readonly memoryLimitBytes?: number;
  };
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] };
}

export interface SandboxStatus {
  readonly id: string;
  readonly ready: boolean;
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly ips: readonly string[];
  readonly networkNamespace: 'pod' | 'node';
}

/** Everything the runtime knows of one pod. Upstream: kubecontainer.PodStatus. */
export interface PodStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Addresses of the newest ready sandbox. */
  readonly ips: readonly string[];
  /** All containers including exited ones, newest first for each name. */
  readonly containers: readonly ContainerStatus[];
  /** Newest first. */
  readonly sandboxes: readonly SandboxStatus[];
}

/** A pod in a listing of the runtime. Upstream: kubecontainer.Pod. */
export interface RuntimePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly createdAtMs: number;
  readonly containers: readonly {
    readonly id: string;
    readonly name: string;
    readonly state: ContainerState;
    readonly hash: string;
  }[];
  readonly sandboxes: readonly { readonly id: string; readonly state: ContainerState }[];
}

/** One step of a sync or kill, for events and the pod's status. Upstream: SyncResult. */
export interface SyncStep {
  readonly action:
    | 'StartContainer'
    | 'KillContainer'
    | 'CreatePodSandbox'
    | 'ConfigPodSandbox'
    | 'KillPodSandbox'
    | 'InitContainer'
    | 'ResizePod';
  readonly target: string;
  /** Upstream's reason when it failed: CrashLoopBackOff, ErrImagePull, ImagePullBackOff, CreateContainerConfigError, RunContainerError … */
  readonly reason?: string;
  readonly message?: string;
}

/** The result of `syncPod`. `retryAfterMs`: when a back-off ends and the pod must be synced again. */
export interface PodSyncResult {
  readonly steps: readonly SyncStep[];
  readonly error?: Error;
  readonly retryAfterMs?: number;
}

/** A change in the runtime's event stream. It only wakes the PLEG, which reads the state again. */
export interface RuntimeEvent {
  readonly podUid: string;
  readonly containerId: string;
  readonly type: 'created' | 'started' | 'stopped' | 'deleted';
  /** Exit code when type is `stopped` and the event has it. */
  readonly exitCode?: number;
}

/** What the runtime reports about itself and its network. */
export interface ContainerRuntimeStatus {
  readonly runtimeReady: boolean;
  readonly networkReady: boolean;
  readonly message: string;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  /** Features and handlers for the node status. */
  readonly runtimeHandlers: readonly { readonly name: string; readonly features: Readonly<Record<string, boolean>> }[];
}

/** Output of a command run in a container. */
export interface ContainerExecResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** An image on the node. */
export interface NodeImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  readonly pinned: boolean;
}

/** The container runtime manager. All calls take an abort signal where they can take long. */
export interface ContainerRuntime {
  status(): Promise<ContainerRuntimeStatus>;
  /** Pods with sandboxes or containers; `all` includes exited ones. */
  getPods(all: boolean): Promise<readonly RuntimePod[]>;
  getPodStatus(uid: string, name: string, namespace: string): Promise<PodStatus>;
  /** The seven steps: compute changes; kill sandbox; kill containers; create sandbox; ephemeral, init, normal containers. */
  syncPod(request: {
    pod: Pod;
    podStatus: PodStatus;
    pullSecrets: readonly Secret[];
    /** Called before an image is pulled; the sandbox is there then. */
    beforePull?: () => void;
    trace: StepScope;
    signal: AbortSignal;
  }): Promise<PodSyncResult>;
  /**
   * Stops containers (preStop, TERM, grace, KILL) and then the sandbox. `pod` is absent for orphans, whose grace
   * period comes from labels.
   */
  killPod(request: {
    pod?: Pod;
    runtimePod: RuntimePod;
    gracePeriodSeconds?: number;
    reason?: string;
    signal?: AbortSignal;
  }): Promise<PodSyncResult>;
  /** The rest of the restart back-off of a pod's container, in milliseconds; 0: none. */
  restartDelayMs(uid: string, containerName: string): number;
  /** The pod's image pulls that failed last. */
  failedPulls(uid: string): readonly FailedPull[];
  /** Containers of the pod that were killed because their postStart hook failed. */
  endings(uid: string): readonly ContainerEnding[];
  /** Drops back-off and caches of a pod that is gone. */
  forgetPod(uid: string): void;
  /**
   * Removes exited containers and sandboxes beyond what the policy keeps; `evictNonDeleted` also those of finished
   * pods.
   */
  garbageCollect(
    policy: { minAgeMs: number; maxPerPodContainer: number; maxContainers: number },
    options: { allSourcesReady: boolean; evictNonDeleted: boolean },
  ): Promise<void>;
  /** Removes one exited container (after ContainerDied, beyond the newest). */
  deleteContainer(id: string): Promise<void>;
  /**
   * Runs a command and waits for its end, for exec probes and hooks. `timeoutMs` 0: none; a timeout rejects with an
   * error whose `code` is 'DEADLINE'.
   */
  execSync(containerId: string, command: readonly string[], timeoutMs: number): Promise<ContainerExecResult>;
  /** URLs of the runtime's streaming server. */
  execUrl(request: {
    containerId: string;
    command: readonly string[];
    stdin: boolean;
    stdout: boolean;
    stderr: boolean;
    tty: boolean;
  }): Promise<string>;
  attachUrl(request: {
    containerId: string;
    stdin: boolean;
    stdout: boolean;
    stderr: boolean;
    tty: boolean;
  }): Promise<string>;
  portForwardUrl(request: { podSandboxId: string; ports: readonly number[] }): Promise<string>;
  /** Log file of the container of this id, or of the current one. */
  containerLogPath(containerId: string): Promise<string>;
  reopenContainerLog(containerId: string): Promise<void>;
  /** Changes the CPUs of a running container, a list such as `0-3,8`. */
  updateCpuset(containerId: string, cpusetCpus: string): Promise<void>;
  /** Checkpoints a running container into a file; rejects with CRI's Unimplemented where the runtime cannot. */
  checkpointContainer(containerId: string, location: string, timeoutSeconds: number): Promise<void>;
  images(): Promise<readonly NodeImage[]>;
  removeImage(id: string): Promise<void>;
  updatePodCidr(cidr: string): Promise<void>;
  /** Runtime events until aborted; throws when the stream breaks: the caller relists and subscribes again. */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}
