/**
 * Status: the pods' reported status, and the probes it depends on. Needs the context, the pods, the resources and the
 * runtime.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { PodWorkCounts } from '../../metrics/pod-counts.ts';
import type { ProbeManager } from '../../prober/prober-manager.ts';
import type { GenerateStatus } from '../../status/status-generator.ts';
import type { StatusManager } from '../../status/status-manager.ts';
import type { KubeletContext } from '../context.ts';
import type { KubeletPods } from '../pods/types.ts';
import type { KubeletResources } from '../resources/types.ts';
import type { KubeletRuntime } from '../runtime/types.ts';

export interface KubeletStatusDeps {
  readonly context: KubeletContext;
  readonly pods: KubeletPods;
  readonly resources: KubeletResources;
  readonly runtime: KubeletRuntime;
}

export interface KubeletStatus {
  /** Patches changed pod statuses into the API. */
  readonly statusManager: StatusManager;
  /** Runs the probes; their results come on `channels.probeCh`. */
  readonly probeManager: ProbeManager;
  /** A pod's status from its spec and the runtime's observation. */
  readonly generateStatus: GenerateStatus;
  /** Pods that hold resources. Upstream: GetActivePods. */
  readonly getActivePods: () => Pod[];
  /** Counts of the workers for metrics; housekeeping writes it. */
  readonly podWorkCounts: PodWorkCounts;
}
