/**
 * Runtime: the container runtime, its health, and its observed state. Needs the context, the pods, the core's view
 * and the volumes.
 */
import type { ContainerRuntime } from '../../container/runtime.ts';
import type { KubeletCore } from '../../kubelet-contract.ts';
import type { RuntimeMonitor } from '../../node-status/runtime-monitor.ts';
import type { RuntimeState } from '../../node-status/runtime-state.ts';
import type { PodLifecycleEventGenerator } from '../../pleg/generic-pleg.ts';
import type { ReasonCache } from '../../status/reason-cache.ts';
import type { KubeletContext } from '../context.ts';
import type { KubeletPods } from '../pods/types.ts';
import type { KubeletVolumes } from '../volumes/types.ts';

export interface KubeletRuntimeDeps {
  readonly context: KubeletContext;
  readonly pods: KubeletPods;
  readonly core: KubeletCore;
  readonly volumes: KubeletVolumes;
}

export interface KubeletRuntime {
  readonly containerRuntime: ContainerRuntime;
  /** Scheme of container ids; a default until the runtime has answered. */
  runtimeName: string;
  /** Whether runtime and network are up. The monitor writes it. */
  readonly runtimeState: RuntimeState;
  readonly runtimeMonitor: RuntimeMonitor;
  /** Writes the pod cache and sends events on `channels.plegCh`. */
  readonly pleg: PodLifecycleEventGenerator;
  /** Why containers could not be started. */
  readonly reasonCache: ReasonCache;
}
