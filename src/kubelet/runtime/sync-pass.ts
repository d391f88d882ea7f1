/** One pass of syncPod over a pod: its input, and the results that its steps record. */
import type { Pod, Secret } from '../../api/gen/core-v1.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import type { PodSandboxConfig } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import { syncError } from '../container/sync-error.ts';
import type { ContainerStatus, PodStatus, PodSyncResult, SyncStep } from '../container/runtime.ts';
import type { PodActions } from './pod-actions.ts';
import type { RuntimeContext } from './runtime-context.ts';

export interface SyncPod {
  readonly pod: Pod;
  readonly podStatus: PodStatus;
  readonly pullSecrets: readonly Secret[];
  /** Called before an image is pulled; the sandbox is there then. */
  readonly beforePull?: (() => void) | undefined;
  readonly trace: StepScope;
  readonly signal: AbortSignal;
}

/** One pass over a pod: input, dependencies and results. */
export interface Pass extends SyncPod {
  readonly actions: PodActions;
  readonly context: RuntimeContext;
  /** The newest run of each exited container. */
  readonly ended: ReadonlyMap<string, ContainerStatus>;
  readonly steps: SyncStep[];
  retryAfterMs?: number;
}

export interface Sandbox {
  readonly id: string;
  readonly config: Init<PodSandboxConfig>;
  readonly ips: readonly string[];
}

export function syncResultOf({ steps, retryAfterMs }: Pass): PodSyncResult {
  const error = syncError(steps);
  return { steps, error, retryAfterMs };
}

export function retryWithin(pass: Pass, afterMs: number | undefined): void {
  if (afterMs !== undefined) pass.retryAfterMs = Math.min(pass.retryAfterMs ?? Number.POSITIVE_INFINITY, afterMs);
}
