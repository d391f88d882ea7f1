/**
 * Node: reports the node's status, and protects the node by ending pods. Needs the context, the pods, the resources,
 * the volumes, the runtime and the status. Binds the late `nodeStatus`.
 */
import type { EvictionManager } from '../../eviction/eviction-manager.ts';
import type { NodeShutdownManager } from '../../node-shutdown/node-shutdown-manager.ts';
import type { NodeStatusManager } from '../../node-status/node-status-manager.ts';
import type { Preemption } from '../../preemption/preemption.ts';
import type { KubeletContext } from '../context.ts';
import type { KubeletPods } from '../pods/types.ts';
import type { KubeletResources } from '../resources/types.ts';
import type { KubeletRuntime } from '../runtime/types.ts';
import type { KubeletStatus } from '../status/types.ts';
import type { KubeletVolumes } from '../volumes/types.ts';

export interface KubeletNodeDeps {
  readonly context: KubeletContext;
  readonly pods: KubeletPods;
  readonly resources: KubeletResources;
  readonly volumes: KubeletVolumes;
  readonly runtime: KubeletRuntime;
  readonly status: KubeletStatus;
}

export interface KubeletNode {
  /** Registers the node and keeps its status in the API. */
  readonly nodeStatus: NodeStatusManager;
  /** Evicts pods when the node runs low on a resource; undefined without statistics. */
  readonly evictionManager: EvictionManager | undefined;
  /** Ends pods before the machine shuts down; undefined without a source of shutdown notices. */
  readonly shutdownManager: NodeShutdownManager | undefined;
  /** Ends pods to admit a critical one. */
  readonly preemption: Preemption;
}
