/** Contract of probe results between prober, status manager, runtime manager and sync loop. Upstream: pkg/kubelet/prober/results. */

export type ProbeType = 'liveness' | 'readiness' | 'startup';
export type ProbeResult = 'success' | 'failure' | 'unknown';

export interface ProbeUpdate {
  readonly type: ProbeType;
  readonly containerId: string;
  readonly podUid: string;
  readonly result: ProbeResult;
}

/**
 * The newest result per container id. Before the first probe: liveness success, readiness failure, startup unknown
 * (absent here).
 */
export interface ProbeResults {
  get(type: ProbeType, containerId: string): ProbeResult | undefined;
}
