/**
 * Reclaims resources that the node runs low on: unused containers and images first, then pods, one at a time. Reports
 * the node's pressures and rejects pods that would add to them. Upstream: pkg/kubelet/eviction/eviction_manager.go.
 *
 * Runs every ten seconds. A hard threshold takes effect at once, a soft one after its grace period; a pressure is
 * reported until its threshold has not been met for the transition period.
 */
import { onAbort } from '../../base/abort.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { KillPodFunc } from '../pod-workers/kill-pod-now.ts';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { Log } from '../../platform/log.ts';
import type { Counter } from '../../platform/metrics.ts';
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
import { createPressures, type Pressures } from './pressures.ts';
import { rankPodsForEviction } from './eviction-ranking.ts';
import type { StatsOf } from './pod-usage.ts';
import { observe, SIGNALS, thresholdsMet, thresholdsOf, type Observations, type Threshold } from './thresholds.ts';

const MONITORING_PERIOD_MS = 10_000;
const CLEANUP_TIMEOUT_MS = 30_000;
const IMMEDIATE_GRACE_SECONDS = 1;
const MEMORY_PRESSURE_TAINT = 'node.kubernetes.io/memory-pressure';

export interface EvictionDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  readonly nodeRef: EventTarget;
  readonly nodeStats: () => Promise<NodeStats>;
  /** Includes all pods; read only when pods are ranked. */
  readonly summary: () => Promise<Summary>;
  /** The memory limit of all pods together. */
  readonly allocatableMemoryBytes: () => Promise<number>;
  /** Pods that hold resources. */
  readonly activePods: () => readonly Pod[];
  readonly killPod: KillPodFunc;
  readonly removeUnusedContainers: () => Promise<void>;
  readonly removeUnusedImages: () => Promise<void>;
  /** Called when the node status must report other pressures. */
  readonly onPressureChange: () => void;
}

export interface EvictionManager {
  /** Synchronizes periodically until the signal aborts. */
  start(signal: AbortSignal): void;
  /** Resolves to the evicted pods. */
  synchronize(): Promise<readonly Pod[]>;
  pressure(): NodePressure;
  /** Whether the node admits the pod under its current pressures. */
  admit(pod: Pod): AdmissionResult;
}

type EvictionConfig = Pick<KubeletConfiguration, 'evictionHard' | 'eviction' | 'cgroups'>;

export function createEvictionManager(deps: EvictionDeps, config: EvictionConfig): EvictionManager {
  return new NodeEvictionManager(deps, config);
}

interface Eviction {
  readonly message: string;
  readonly signal: string;
  readonly gracePeriodSeconds: number;
}

class NodeEvictionManager implements EvictionManager {
  readonly #deps: EvictionDeps;
  readonly #config: EvictionConfig;
  readonly #log: Log;
  readonly #pressures: Pressures;
  readonly #configuredThresholds: readonly Threshold[];
  readonly #evictions: Counter;
  /** By layout, since pressures identify thresholds by object identity. */
  readonly #thresholdsByLayout = new Map<DiskLayout, readonly Threshold[]>();
  #metThresholds: readonly Threshold[] = [];
  #synchronizing = false;

  constructor(deps: EvictionDeps, config: EvictionConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#log = deps.platform.log.child('eviction');
    this.#pressures = createPressures(deps.platform.clock, config.eviction.pressureTransitionPeriodMs);
    this.#configuredThresholds = thresholdsOf(config);
    this.#evictions = deps.platform.metrics.counter({
      name: 'kubelet_evictions',
      help: 'Cumulative number of pod evictions by eviction signal',
      labels: ['eviction_signal'],
    });
    if (this.#configuredThresholds.some(isContainerFs))
      this.#log.error('Eviction manager: found conflicting containerfs eviction. Ignoring.');
  }

  async synchronize(): Promise<readonly Pod[]> {
    const { observations, layout } = await this.#observe();
    const metNow = thresholdsMet(this.#thresholdsOf(layout), observations, false);
    const unresolved = thresholdsMet(this.#metThresholds, observations, true);
    const met = [...metNow, ...unresolved.filter((threshold) => !metNow.includes(threshold))];
    const { due, changed } = this.#pressures.update(met);
    this.#metThresholds = due;
    if (changed) this.#deps.onPressureChange();
    const evicted = await this.#localStorageEviction();
    const urgent = mostUrgent(this.#metThresholds);
    if (evicted.length > 0 || urgent === undefined) return evicted;
    const { resource } = SIGNALS[urgent.signal];
    this.#log.warn('Eviction manager: attempting to reclaim', { resourceName: resource });
    this.#deps.recorder.event(
      this.#deps.nodeRef,
      'Warning',
      'EvictionThresholdMet',
      `Attempting to reclaim ${resource}`,
    );
    if (await this.#reclaimNodeLevelResources(urgent, layout)) return [];
    return this.#evictOne(urgent, observations);
  }

  start(signal: AbortSignal): void {
    const cancel = this.#deps.platform.clock.setTicker(MONITORING_PERIOD_MS, () => {
      if (this.#synchronizing) return;
      this.#synchronizing = true;
      this.synchronize()
        .catch((error: unknown) => this.#log.error('Eviction manager: failed to get summary stats', { err: error }))
        .finally(() => (this.#synchronizing = false));
    });
    onAbort(signal, cancel);
  }

  pressure(): NodePressure {
    return {
      memory: this.#pressures.has('MemoryPressure'),
      disk: this.#pressures.has('DiskPressure'),
      pid: this.#pressures.has('PIDPressure'),
    };
  }

  admit(pod: Pod): AdmissionResult {
    return admitUnder(pod, this.#pressures.conditions());
  }

  #thresholdsOf(layout: DiskLayout): readonly Threshold[] {
    let cached = this.#thresholdsByLayout.get(layout);
    if (cached === undefined)
      this.#thresholdsByLayout.set(layout, (cached = withContainerFs(this.#configuredThresholds, layout)));
    return cached;
  }

  async #evictPod(pod: Pod, eviction: Eviction): Promise<boolean> {
    const { message, signal, gracePeriodSeconds } = eviction;
    if (isCriticalPod(pod)) {
      this.#log.error('Eviction manager: cannot evict a critical pod', podFields(pod));
      return false;
    }
    this.#evictions.inc({ eviction_signal: signal });
    this.#deps.recorder.event(pod, 'Warning', EVICTED, message);
    const disruption = { reason: EVICTED, message, nowMs: this.#deps.platform.clock.nowMs() };
    const changeStatus = (status: PodStatus): PodStatus => disruptedStatus(status, pod, disruption);
    const killed = this.#deps.killPod({ pod, gracePeriodSeconds, changeStatus });
    const limit = new AbortController();
    await Promise.race([
      killed.catch((error: unknown) =>
        this.#log.error('Eviction manager: pod failed to evict', { ...podFields(pod), err: error }),
      ),
      sleepUnlessAborted(this.#deps.platform.clock, CLEANUP_TIMEOUT_MS, limit.signal),
    ]);
    limit.abort();
    return true;
  }

  async #localStorageEviction(): Promise<Pod[]> {
    if (!this.#config.eviction.localStorageCapacityIsolation) return [];
    const pods = this.#deps.activePods().filter(hasStorageLimit);
    if (pods.length === 0) return [];
    const statsOf = statsByUid(await this.#deps.summary());
    const evicted: Pod[] = [];
    for (const pod of pods) {
      const stats = statsOf(pod);
      const message = stats === undefined ? undefined : brokenStorageLimit(pod, stats);
      if (message === undefined) continue;
      const signal = message.startsWith('Usage of EmptyDir') ? 'emptydirfs.limit' : 'ephemeralpodfs.limit';
      if (await this.#evictPod(pod, { message, signal, gracePeriodSeconds: IMMEDIATE_GRACE_SECONDS }))
        evicted.push(pod);
    }
    return evicted;
  }

  /** Removes unused containers and images; true when no threshold is met any more. */
  async #reclaimNodeLevelResources({ signal }: Threshold, layout: DiskLayout): Promise<boolean> {
    if (SIGNALS[signal].condition !== 'DiskPressure') return false;
    const { containers, images } = removalsFor(signal, layout);
    if (!containers && !images) return false;
    const removals = [
      ...(containers ? [this.#deps.removeUnusedContainers] : []),
      ...(images ? [this.#deps.removeUnusedImages] : []),
    ];
    for (const reclaim of removals)
      await reclaim().catch((error: unknown) =>
        this.#log.warn('Eviction manager: unexpected error when attempting to reduce resource pressure', {
          err: error,
        }),
      );
    const { observations } = await this.#observe();
    return thresholdsMet(this.#metThresholds, observations, true).length === 0;
  }

  async #observe(): Promise<{ readonly observations: Observations; readonly layout: DiskLayout }> {
    const node = await this.#deps.nodeStats();
    return { observations: observe(node, await this.#deps.allocatableMemoryBytes()), layout: diskLayoutOf(node) };
  }

  #gracePeriodSeconds(threshold: Threshold, pod: Pod): number {
    if (threshold.hard) return IMMEDIATE_GRACE_SECONDS;
    const podSeconds = pod.spec?.terminationGracePeriodSeconds ?? 30;
    return Math.min(Number(podSeconds), this.#config.eviction.maxPodGracePeriodSeconds);
  }

  async #evictOne(threshold: Threshold, observations: Observations): Promise<Pod[]> {
    const { signal } = threshold;
    const summary = await this.#deps.summary();
    const statsOf = statsByUid(summary);
    const parts = diskPartsOf(signal, diskLayoutOf(summary.node));
    for (const pod of rankPodsForEviction(this.#deps.activePods(), statsOf, {
      resource: SIGNALS[signal].resource,
      parts,
    })) {
      const message = lowNodeMessage(threshold, observations, { pod, stats: statsOf(pod) });
      if (await this.#evictPod(pod, { message, signal, gracePeriodSeconds: this.#gracePeriodSeconds(threshold, pod) }))
        return [pod];
    }
    this.#log.error('Eviction manager: unable to evict any pods from the node');
    return [];
  }
}

/** Memory is first: when a node has none left the kernel kills processes. */
function mostUrgent(thresholds: readonly Threshold[]): Threshold | undefined {
  const rank = ({ signal }: Threshold): number => (SIGNALS[signal].resource === 'memory' ? 0 : 1);
  return [...thresholds].sort((a, b) => rank(a) - rank(b))[0];
}

function statsByUid(summary: Summary): StatsOf {
  const byUid = new Map(summary.pods.map((stats) => [stats.podRef.uid, stats]));
  return (pod) => byUid.get(podUid(pod));
}

/** Critical pods are always admitted; under memory pressure alone so are pods that request memory or tolerate its taint. */
function admitUnder(pod: Pod, conditions: readonly string[]): AdmissionResult {
  if (conditions.length === 0 || isCriticalPod(pod)) return { admit: true };
  if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
    if (podQosClass(pod) !== 'BestEffort') return { admit: true };
    const tolerates = (pod.spec?.tolerations ?? []).some(
      ({ key, operator, effect }) =>
        (key === MEMORY_PRESSURE_TAINT || (key === undefined && operator === 'Exists')) &&
        (effect === undefined || effect === '' || effect === 'NoSchedule'),
    );
    if (tolerates) return { admit: true };
  }
  return { admit: false, reason: EVICTED, message: nodeConditionMessage(conditions) };
}
