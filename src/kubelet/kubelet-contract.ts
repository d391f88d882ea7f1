/** The interfaces of the kubelet: what it needs, the core that volumes and runtime use, and what it provides. */
import type { Container, Node, Pod } from '../api/gen/core-v1.ts';
import type { Client } from '../client/client.ts';
import type { KubeletEventRecorder } from './event-reasons.ts';
import type { InformerFactory } from '../client/informer.ts';
import type { GrpcConnector } from '../grpc/grpc-connector.ts';
import type { SocketServer } from '../grpc/socket-server.ts';
import type { Platform } from '../platform/platform.ts';
import type { Tracer } from '../platform/tracing.ts';
import type { AllocationManager } from './allocation/allocation-manager.ts';
import type { PodContainerManager } from './cgroups/pod-container-manager.ts';
import type { PreparePod } from './config/static-pod.ts';
import type { ContainerRuntime } from './container/runtime.ts';
import type { PluginManager } from './plugin-manager/plugin-manager.ts';
import type { PodStarts } from './metrics/pod-starts.ts';
import type { PodManagerView } from './pod/pod-manager.ts';
import type { PodDirectories } from './pod/pod-directories.ts';
import type { PodStateProvider } from './pod-workers/pod-syncer.ts';
import type { ProbeResults } from './prober/results.ts';
import type { ShutdownGroup, ShutdownSource } from './node-shutdown/node-shutdown-manager.ts';
import type { ContainerDevices } from './runtime/container-config.ts';
import type { KubeletHost } from './server/host.ts';
import type { NodeStats, Summary } from './stats/summary-types.ts';
import type { VolumeManager } from './volumes/volume-manager-contract.ts';

/** The core as volumes and the runtime manager use it, from construction on. */
export interface KubeletCore {
  readonly probeResults: ProbeResults;
  /** The pods that should run here. */
  readonly pods: PodManagerView;
  readonly podState: PodStateProvider;
  readonly directories: PodDirectories;
  readonly podStarts: PodStarts;
  /** Allocated resources of pods and containers, including in-place resizes. */
  readonly allocations: AllocationManager;
  readonly nodeIps: () => readonly string[];
  /**
   * Pods whose containers run or may run, including removed ones that still end: their volumes and cgroups are kept.
   */
  readonly podsWithRuntime: () => readonly Pod[];
  /** Takes handlers of plugins (CSI drivers, DRA drivers, device plugins) until the kubelet starts. */
  readonly plugins: Pick<PluginManager, 'addHandler'>;
  readonly connectGrpc: GrpcConnector;
  /** The newest Node object. */
  readonly ownNode: () => Node | undefined;
  /** The settings that device plugins add to a container. */
  readonly containerDevices: (pod: Pod, container: Container) => Promise<ContainerDevices | undefined>;
  /** Whether a container of the pod has exclusive CPUs, so that the pod has no quota. */
  readonly withoutCpuQuota: (pod: Pod) => boolean;
  /** Updates the node's status, since something in it may have changed. */
  readonly nodeStatusChanged: () => void;
  /** Every pod source has sent its pods: unknown pods are orphans. */
  readonly sourcesReady: () => boolean;
}

/** Volumes and runtime are created by functions of the core, since the dependency is circular. */
export interface KubeletDeps {
  readonly platform: Platform;
  readonly client: Client;
  /** For the lease; default: `client`. */
  readonly heartbeatClient?: Client;
  readonly recorder: KubeletEventRecorder;
  readonly informers: InformerFactory;
  readonly podContainers: PodContainerManager;
  /** Connects to plugins' sockets, and to health services of pods. Default: the machine's own. */
  readonly connectGrpc?: GrpcConnector;
  /** Serves the sockets for device plugins and for pod resources. Default: the machine's own. */
  readonly serveSocket?: SocketServer;
  readonly volumes: (core: KubeletCore) => VolumeManager;
  readonly runtime: (core: KubeletCore, volumes: VolumeManager) => ContainerRuntime;
  /** Statistics and image removal for the eviction manager; without them no pod is evicted. */
  readonly resources?: {
    readonly nodeStats: () => Promise<NodeStats>;
    readonly summary: () => Promise<Summary>;
    /** Resolves to the freed bytes. */
    readonly removeUnusedImages: () => Promise<number>;
  };
  /** Reports the machine's shutdown, and the pods' grace periods by priority. */
  readonly shutdown?: { readonly source: ShutdownSource; readonly groups: readonly ShutdownGroup[] };
  /** Sets defaults of a pod from a file or URL and validates it, as the API server would; throws the error. */
  readonly preparePod: PreparePod;
  /** Absent: no traces. */
  readonly tracer?: Tracer | undefined;
}

export interface Kubelet {
  /** Resolves once the main loop runs; registration continues after that. The caller starts the informers. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when no sync runs any more. Containers keep running. */
  stop(): Promise<void>;
  readonly host: KubeletHost;
  readonly core: KubeletCore;
  readonly runtime: ContainerRuntime;
  readonly volumes: VolumeManager;
  /** Resolves when the node's first status is in the API. */
  readonly registered: Promise<void>;
}
