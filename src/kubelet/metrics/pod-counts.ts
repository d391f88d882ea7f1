/**
 * Metrics of the pods that the kubelet handles, counted at each exposition (running ones: `stats/kubelet-metrics.ts`). Upstream:
 * pkg/kubelet/metrics with HandlePodCleanups and the pod manager's updateMetrics.
 *
 * Differs: counted at the scrape, not at the last housekeeping. Only what workers do is counted at housekeeping, and kept as
 * plain numbers until a scrape: the dozen series with their labels are made then.
 */
import { onAbort } from '../../base/abort.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Gauge, Metrics } from '../../platform/metrics.ts';
import type { PodWorkerSync } from '../pod-workers/pod-syncer.ts';
import { isStaticPod } from '../types/pod-update.ts';

export interface PodCountSources {
  /** Pods that should run here. */
  readonly desired: () => readonly Pod[];
  /** The pods that count in admission. */
  readonly active: () => readonly Pod[];
  readonly mirrors: () => readonly Pod[];
}

/** Exposes the counts until the signal aborts. */
export function exposePodCounts(metrics: Metrics, sources: PodCountSources, signal: AbortSignal): void {
  if (signal.aborted) return;
  const gauges = createGauges(metrics);
  // In a simulation the registry outlives a crashed kubelet and must not keep its pods in memory.
  const end = metrics.beforeExpose(() => {
    const desired = sources.desired();
    countByOrigin(gauges.desired, desired);
    countByOrigin(gauges.active, sources.active());
    gauges.mirrors.set(sources.mirrors().length);
    gauges.ephemeral.set(desired.reduce((sum, { spec }) => sum + (spec?.ephemeralContainers?.length ?? 0), 0));
  });
  onAbort(signal, end);
}

function createGauges(metrics: Metrics) {
  return {
    desired: metrics.gauge({
      name: 'kubelet_desired_pods',
      help: 'Pods the kubelet is told to run. static is true where they do not come from the API server.',
      labels: ['static'],
    }),
    active: metrics.gauge({
      name: 'kubelet_active_pods',
      help: 'Pods that count when a new one is admitted. static is true where they do not come from the API server.',
      labels: ['static'],
    }),
    mirrors: metrics.gauge({ name: 'kubelet_mirror_pods', help: 'Copies of static pods in the API server.' }),
    ephemeral: metrics.gauge({
      name: 'kubelet_managed_ephemeral_containers',
      help: 'Ephemeral containers in pods of this kubelet.',
    }),
  };
}

function countByOrigin(gauge: Gauge, pods: readonly Pod[]): void {
  const fixed = pods.filter(isStaticPod).length;
  gauge.set(fixed, { static: 'true' });
  gauge.set(pods.length - fixed, { static: '' });
}

/** The counts of the workers at the last housekeeping. */
export interface PodWorkCounts {
  /** Exposes the counts until the signal aborts. */
  start(signal: AbortSignal): void;
  /** `unseen`: pods in the runtime without a worker; `restarted`: pods whose uid was used again. */
  note(found: { workers: Iterable<PodWorkerSync>; unseen: number; restarted: readonly Pod[] }): void;
}

/** Registers the metrics of pod workers; they are exposed from `start` on. */
export function createPodWorkCounts(metrics: Metrics): PodWorkCounts {
  const gauge = metrics.gauge({
    name: 'kubelet_working_pods',
    help: 'Pods the kubelet works on, by part of life, by whether they are desired, orphaned, or only known by the runtime, and by whether they are static.',
    labels: ['lifecycle', 'config', 'static'],
  });
  const orphans = metrics.counter({
    name: 'kubelet_orphaned_runtime_pods_total',
    help: 'Pods found in the runtime that no worker knew of.',
  });
  const restarts = metrics.counter({
    name: 'kubelet_restarted_pods_total',
    help: 'Pods deleted and made again with the same uid.',
    labels: ['static'],
  });
  let working: ReadonlyMap<string, number> = new Map();
  const expose = (): void => {
    for (const lifecycle of ['sync', 'terminating', 'terminated'])
      for (const [config, fixed] of WORKING)
        gauge.set(working.get(`${lifecycle} ${config} ${fixed}`) ?? 0, { lifecycle, config, static: fixed });
  };
  return {
    // Ends like the hook above.
    start(signal) {
      if (!signal.aborted) onAbort(signal, metrics.beforeExpose(expose));
    },
    note({ workers, unseen, restarted }) {
      const counts = new Map<string, number>();
      const count = (lifecycle: string, config: string, fixed: string): void => {
        const key = `${lifecycle} ${config} ${fixed}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      };
      for (const { state, orphan, hasConfig, isStatic } of workers)
        if (hasConfig) count(state, orphan ? 'orphan' : 'desired', isStatic ? 'true' : '');
        else if (orphan) count(state, 'runtime_only', 'unknown');
      for (const pod of restarted) {
        count('sync', 'desired', isStaticPod(pod) ? 'true' : '');
        restarts.inc({ static: isStaticPod(pod) ? 'true' : '' });
      }
      for (let index = 0; index < unseen; index++) count('terminating', 'runtime_only', 'unknown');
      if (unseen > 0) orphans.inc({}, unseen);
      working = counts;
    },
  };
}

const WORKING = [
  ['desired', 'true'],
  ['desired', ''],
  ['orphan', 'true'],
  ['orphan', ''],
  ['runtime_only', 'unknown'],
] as const;
