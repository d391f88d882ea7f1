/**
 * How many pods and containers the kubelet has to do with, counted when somebody asks. Upstream: pkg/kubelet/metrics with
 * HandlePodCleanups, the PLEG's updateRunningPodAndContainerMetrics and the pod manager's updateMetrics.
 *
 * Differs: counted at the scrape, not at the last housekeeping or relist. Only what workers do is taken at housekeeping.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Gauge, Metrics } from '../../platform/metrics.ts';
import type { PodStatus } from '../container/runtime.ts';
import type { PodWorkerSync } from '../pod-workers/pod-syncer.ts';
import { isStaticPod } from '../types/pod-update.ts';

/** What is counted. */
export interface PodCountSources {
  /** Pods that should run here. */
  readonly desired: () => readonly Pod[];
  /** Those that count when a new one is admitted. */
  readonly active: () => readonly Pod[];
  readonly mirrors: () => readonly Pod[];
  /** What the runtime runs, as last seen. */
  readonly observed: () => Iterable<PodStatus>;
}

const STATES = ['created', 'running', 'exited', 'unknown'] as const;

/** Exposes the counts until the signal aborts. */
export function exposePodCounts(
  metrics: Metrics,
  { nodeName, sources }: { readonly nodeName: string; readonly sources: PodCountSources },
  signal: AbortSignal,
): void {
  const gauges = createGauges(metrics);
  metrics
    .gauge({ name: 'kubelet_node_name', help: "The node's name. The value is always 1.", labels: ['node'] })
    .set(1, { node: nodeName });
  let current: PodCountSources | undefined = sources;
  // A registry outlives a kubelet that crashed in a simulation: it must not keep its pods.
  signal.addEventListener('abort', () => void (current = undefined), { once: true });
  metrics.beforeExpose(() => {
    if (current === undefined) return;
    const desired = current.desired();
    countByOrigin(gauges.desired, desired);
    countByOrigin(gauges.active, current.active());
    gauges.mirrors.set(current.mirrors().length);
    gauges.ephemeral.set(desired.reduce((sum, { spec }) => sum + (spec?.ephemeralContainers?.length ?? 0), 0));
    countRunning(gauges, current.observed());
  });
}

type Gauges = ReturnType<typeof createGauges>;

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
    pods: metrics.gauge({ name: 'kubelet_running_pods', help: 'Pods whose sandbox runs.' }),
    containers: metrics.gauge({
      name: 'kubelet_running_containers',
      help: 'Containers the runtime has, by state.',
      labels: ['container_state'],
    }),
  };
}

function countByOrigin(gauge: Gauge, pods: readonly Pod[]): void {
  const fixed = pods.filter(isStaticPod).length;
  gauge.set(fixed, { static: 'true' });
  gauge.set(pods.length - fixed, { static: '' });
}

function countRunning(gauges: Gauges, observed: Iterable<PodStatus>): void {
  let pods = 0;
  const containers = { created: 0, running: 0, exited: 0, unknown: 0 };
  for (const status of observed) {
    if (status.sandboxes.some(({ ready }) => ready)) pods++;
    for (const { state } of status.containers) containers[state]++;
  }
  gauges.pods.set(pods);
  for (const state of STATES) gauges.containers.set(containers[state], { container_state: state });
}

/** What housekeeping found of the workers. */
export interface PodWorkCounts {
  /** `unseen`: pods of the runtime no worker knew of; `restarted`: pods whose uid was used again. */
  note(found: { workers: Iterable<PodWorkerSync>; unseen: number; restarted: readonly Pod[] }): void;
}

/** Registers what is counted of workers. */
export function createPodWorkCounts(metrics: Metrics): PodWorkCounts {
  const working = metrics.gauge({
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
  return {
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
      for (const lifecycle of ['sync', 'terminating', 'terminated'])
        for (const [config, fixed] of WORKING)
          working.set(counts.get(`${lifecycle} ${config} ${fixed}`) ?? 0, { lifecycle, config, static: fixed });
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
