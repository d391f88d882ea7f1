/**
 * Resources: what pods and containers get allocated, and the plugins that provide some of it. Needs the context and
 * the pods.
 */
import type { GrpcConnector } from '../../../grpc/grpc-connector.ts';
import type { AllocationManager } from '../../allocation/allocation-manager.ts';
import type { PodContainerManager } from '../../cgroups/pod-container-manager.ts';
import type { UpdateCpuset } from '../../cpu-manager/cpu-reconciler.ts';
import type { ContainerManager } from '../../container-manager/container-manager.ts';
import type { PluginManager } from '../../plugin-manager/plugin-manager.ts';
import type { KubeletContext } from '../context.ts';
import type { KubeletPods } from '../pods/types.ts';

export interface KubeletResourcesDeps {
  readonly context: KubeletContext;
  readonly pods: KubeletPods;
}

export interface KubeletResources {
  /** Allocates devices, exclusive CPUs, NUMA memory and claims to containers. */
  readonly containerManager: ContainerManager;
  /** Allocated requests and limits of pods, including in-place resizes. */
  readonly allocationManager: AllocationManager;
  /** The pods' cgroups. */
  readonly podContainerManager: PodContainerManager;
  /** Registers CSI drivers, DRA drivers and device plugins by their sockets. */
  readonly pluginManager: PluginManager;
  readonly connectGrpc: GrpcConnector;
  /** Reads the checkpoints of earlier runs and creates the cgroups' root. The plugin manager starts later, by itself. */
  start(updateCpuset: UpdateCpuset, signal: AbortSignal): Promise<void>;
}
