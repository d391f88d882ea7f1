/**
 * Frees what the node runs low on: unused containers and images first, then pods, one at a time. Tells which pressures
 * the node is under and refuses pods that would add to them. Upstream: pkg/kubelet/eviction/eviction_manager.go.
 *
 * Looks every ten seconds. A hard threshold acts at once, a soft one when it has been met for its grace period; a
 * pressure is told until its threshold has not been met for the transition period.
 */
import { onAbort } from '../../base/abort.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { KillPodFunc } from '../pod-workers/kill-pod-now.ts';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { AdmissionResult } from '../admission/predicate.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { NodePressure } from '../node-status/node-facts.ts';
import { disruptedStatus } from '../status/disrupted-status.ts';
import type { NodeStats, Summary } from '../stats/summary-types.ts';
import { podFields, podUid, isCriticalPod } from '../types/pod-update.ts';
import {
  diskLayoutOf,
  diskPartsOf,
  isContainerFs,
  removalsFor,
  withContainerFs,
  type DiskLayout,
} from './disk-layout.ts';
import { brokenStorageLimit, hasStorageLimit } from './local-limits.ts';
import { EVICTED, lowNodeMessage, nodeConditionMessage } from './messages.ts';
import { createPressures } from './pressures.ts';
import { rankPodsForEviction } from './eviction-ranking.ts';
import type { StatsOf } from './pod-usage.ts';
import { observe, SIGNALS, thresholdsMet, thresholdsOf, type Observations, type Threshold } from './thresholds.ts';

const MONITORING_PERIOD_MS = 10_000;
const CLEANUP_TIMEOUT_MS = 30_000;
const IMMEDIATE_GRACE_SECONDS = 1;
const MEMORY_PRESSURE_TAINT = 'node.kubernetes.io/memory-pressure';

/** What the manager needs. */
export interface EvictionDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  readonly nodeRef: EventTarget;
  readonly nodeStats: () => Promise<NodeStats>;
  /** Of all pods too: asked for only where pods are to be judged. */
  readonly summary: () => Promise<Summary>;
  /** Memory that all pods together may use. */
  readonly allocatableMemoryBytes: () => Promise<number>;
  /** Pods that hold resources. */
  readonly activePods: () => readonly Pod[];
  readonly killPod: KillPodFunc;
  readonly removeUnusedContainers: () => Promise<void>;
  readonly removeUnusedImages: () => Promise<void>;
  /** The pressures changed: the node should say so. */
  readonly onPressureChange: () => void;
}

export interface EvictionManager {
  /** Looks periodically until the signal aborts. */
  start(signal: AbortSignal): void;
  /** One look; resolves to the pods it evicted. */
  synchronize(): Promise<readonly Pod[]>;
  pressure(): NodePressure;
  /** Whether a pod may come under the present pressures. */
  admit(pod: Pod): AdmissionResult;
}

type EvictionConfig = Pick<KubeletConfiguration, 'evictionHard' | 'eviction' | 'cgroups'>;

export function createEvictionManager(deps: EvictionDeps, config: EvictionConfig): EvictionManager {
  const { clock, metrics } = deps.platform;
  const log = deps.platform.log.child('eviction');
  const pressures = createPressures(clock, config.eviction.pressureTransitionPeriodMs);
  const configured = thresholdsOf(config);
  const evictions = metrics.counter({
    name: 'kubelet_evictions',
    help: 'Cumulative number of pod evictions by eviction signal',
    labels: ['eviction_signal'],
  });
  if (configured.some(isContainerFs)) log.error('Eviction manager: found conflicting containerfs eviction. Ignoring.');
  /** The same objects at every look: since when a threshold is met is known by it. */
  const byLayout = new Map<DiskLayout, readonly Threshold[]>();
  const thresholdsIn = (layout: DiskLayout): readonly Threshold[] => {
    let found = byLayout.get(layout);
    if (found === undefined) byLayout.set(layout, (found = withContainerFs(configured, layout)));
    return found;
  };
  let met: readonly Threshold[] = [];
  let running = false;

  async function evict(
    pod: Pod,
    why: { message: string; signal: string; gracePeriodSeconds: number },
  ): Promise<boolean> {
    if (isCriticalPod(pod)) {
      log.error('Eviction manager: cannot evict a critical pod', podFields(pod));
      return false;
    }
    evictions.inc({ eviction_signal: why.signal });
    deps.recorder.event(pod, 'Warning', EVICTED, why.message);
    const disruption = { reason: EVICTED, message: why.message, nowMs: clock.nowMs() };
    const changeStatus = (status: PodStatus): PodStatus => disruptedStatus(status, pod, disruption);
    const killed = deps.killPod({ pod, gracePeriodSeconds: why.gracePeriodSeconds, changeStatus });
    const limit = new AbortController();
    await Promise.race([
      killed.catch((error: unknown) =>
        log.error('Eviction manager: pod failed to evict', { ...podFields(pod), err: error }),
      ),
      sleepUnlessAborted(clock, CLEANUP_TIMEOUT_MS, limit.signal),
    ]);
    limit.abort();
    return true;
  }

  async function evictBeyondLimits(): Promise<Pod[]> {
    if (!config.eviction.localStorageCapacityIsolation) return [];
    const pods = deps.activePods().filter(hasStorageLimit);
    if (pods.length === 0) return [];
    const statsOf = statsByUid(await deps.summary());
    const evicted: Pod[] = [];
    for (const pod of pods) {
      const stats = statsOf(pod);
      const message = stats === undefined ? undefined : brokenStorageLimit(pod, stats);
      if (message === undefined) continue;
      const signal = message.startsWith('Usage of EmptyDir') ? 'emptydirfs.limit' : 'ephemeralpodfs.limit';
      if (await evict(pod, { message, signal, gracePeriodSeconds: IMMEDIATE_GRACE_SECONDS })) evicted.push(pod);
    }
    return evicted;
  }

  /** Memory before the rest, as memory kills at once. */
  function mostUrgent(thresholds: readonly Threshold[]): Threshold | undefined {
    const rank = ({ signal }: Threshold): number => (SIGNALS[signal].resource === 'memory' ? 0 : 1);
    return [...thresholds].sort((a, b) => rank(a) - rank(b))[0];
  }

  /** Removes what nobody uses; true when that was enough. */
  async function reclaimedNodeResources({ signal }: Threshold, layout: DiskLayout): Promise<boolean> {
    if (SIGNALS[signal].condition !== 'DiskPressure') return false;
    const { containers, images } = removalsFor(signal, layout);
    if (!containers && !images) return false;
    const removals = [
      ...(containers ? [deps.removeUnusedContainers] : []),
      ...(images ? [deps.removeUnusedImages] : []),
    ];
    for (const reclaim of removals)
      await reclaim().catch((error: unknown) =>
        log.warn('Eviction manager: unexpected error when attempting to reduce resource pressure', { err: error }),
      );
    const { observations } = await look();
    return thresholdsMet(met, observations, true).length === 0;
  }

  async function look(): Promise<{ readonly observations: Observations; readonly layout: DiskLayout }> {
    const node = await deps.nodeStats();
    return { observations: observe(node, await deps.allocatableMemoryBytes()), layout: diskLayoutOf(node) };
  }

  function graceOf(threshold: Threshold, pod: Pod): number {
    if (threshold.hard) return IMMEDIATE_GRACE_SECONDS;
    const own = pod.spec?.terminationGracePeriodSeconds ?? 30;
    return Math.min(Number(own), config.eviction.maxPodGracePeriodSeconds);
  }

  async function evictOne(threshold: Threshold, observations: Observations): Promise<Pod[]> {
    const { signal } = threshold;
    const summary = await deps.summary();
    const statsOf = statsByUid(summary);
    const parts = diskPartsOf(signal, diskLayoutOf(summary.node));
    for (const pod of rankPodsForEviction(deps.activePods(), statsOf, { resource: SIGNALS[signal].resource, parts })) {
      const message = lowNodeMessage(threshold, observations, { pod, stats: statsOf(pod) });
      if (await evict(pod, { message, signal, gracePeriodSeconds: graceOf(threshold, pod) })) return [pod];
    }
    log.error('Eviction manager: unable to evict any pods from the node');
    return [];
  }

  async function synchronize(): Promise<readonly Pod[]> {
    const { observations, layout } = await look();
    const now = thresholdsMet(thresholdsIn(layout), observations, false);
    const unresolved = thresholdsMet(met, observations, true);
    const all = [...now, ...unresolved.filter((threshold) => !now.includes(threshold))];
    const { due, changed } = pressures.note(all);
    met = due;
    if (changed) deps.onPressureChange();
    const beyond = await evictBeyondLimits();
    const urgent = mostUrgent(met);
    if (beyond.length > 0 || urgent === undefined) return beyond;
    const { resource } = SIGNALS[urgent.signal];
    log.warn('Eviction manager: attempting to reclaim', { resourceName: resource });
    deps.recorder.event(deps.nodeRef, 'Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`);
    if (await reclaimedNodeResources(urgent, layout)) return [];
    return evictOne(urgent, observations);
  }

  return {
    synchronize,
    start(signal) {
      const cancel = clock.setTicker(MONITORING_PERIOD_MS, () => {
        if (running) return;
        running = true;
        synchronize()
          .catch((error: unknown) => log.error('Eviction manager: failed to get summary stats', { err: error }))
          .finally(() => (running = false));
      });
      onAbort(signal, cancel);
    },
    pressure: () => ({
      memory: pressures.has('MemoryPressure'),
      disk: pressures.has('DiskPressure'),
      pid: pressures.has('PIDPressure'),
    }),
    admit: (pod) => admitUnder(pod, pressures.conditions()),
  };
}

function statsByUid(summary: Summary): StatsOf {
  const byUid = new Map(summary.pods.map((stats) => [stats.podRef.uid, stats]));
  return (pod) => byUid.get(podUid(pod));
}

/** Critical pods always may; under memory pressure alone so may all that asked for memory or bear the taint. */
function admitUnder(pod: Pod, conditions: readonly string[]): AdmissionResult {
  if (conditions.length === 0 || isCriticalPod(pod)) return { admit: true };
  if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
    if (podQosClass(pod) !== 'BestEffort') return { admit: true };
    const bears = (pod.spec?.tolerations ?? []).some(
      ({ key, operator, effect }) =>
        (key === MEMORY_PRESSURE_TAINT || (key === undefined && operator === 'Exists')) &&
        (effect === undefined || effect === '' || effect === 'NoSchedule'),
    );
    if (bears) return { admit: true };
  }
  return { admit: false, reason: EVICTED, message: nodeConditionMessage(conditions) };
}
