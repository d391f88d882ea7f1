/**
 * Pod lifecycle event generator: reads the runtime's state into the pod cache and sends what changed to the sync loop.
 * Upstream: pkg/kubelet/pleg/generic.go.
 *
 * `relist` lists all pods and inspects those that changed; `requestReinspect` inspects one pod at once
 * (after its sync, on a runtime event, when a worker waits for its status). Inspections of one pod never overlap; a
 * request during one causes exactly one more. Every record has a stamp taken before the runtime was called, and an
 * older record never replaces a newer one. Events go to an unbounded queue: none is ever dropped, and each is only a
 * wake-up, sent after the cache holds the status it speaks of.
 */
import { onAbort } from '../../base/abort.ts';
import type { CancelTimer } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { ContainerRuntime, RuntimePod } from '../container/runtime.ts';
import { emptyPodStatus, type ObservationStamp, type PodCache, type PodIdentity } from '../container/pod-cache.ts';
import {
  computeEvents,
  recordOfPodStatus,
  recordOfRuntimePod,
  type PodLifecycleEvent,
  type PodRecord,
} from './pod-records.ts';
import { createPlegMetrics, type PlegMetrics } from './pleg-metrics.ts';
import { RuntimeEvents } from './runtime-events.ts';
import { background } from '../../platform/unexpected.ts';

/** When relists are rarer than this, the kubelet is unhealthy. Upstream: 3 minutes. */
const RELIST_THRESHOLD_MS = 180_000;

export interface PodLifecycleEventGenerator {
  /** First relist at once, then one per period, until the signal aborts. */
  start(signal: AbortSignal): void;
  /** Inspects the pod now, or right after the inspection in progress. */
  requestReinspect(pod: PodIdentity): void;
  /**
   * Handles a runtime event: inspects the pod after a short delay, once for all its events until then, unless it was
   * inspected meanwhile (as after its sync). Relists if the pod is unknown.
   */
  noteRuntimeEvent(uid: string): void;
  /**
   * The pod's worker changes its containers and inspects it afterwards. Until `release`, events of the pod wait for
   * that inspection and are dropped after it, unless they are newer. Requested inspections and relists are not held.
   */
  holdEvents(uid: string): () => void;
  /** Relists now; resolves when done, never rejects. */
  relist(): Promise<void>;
  setRelistPeriod(periodMs: number): void;
  /** Why it is unhealthy; undefined when healthy. */
  healthProblem(): string | undefined;
}

export interface GenericPlegDeps {
  readonly platform: BasePlatform;
  readonly runtime: ContainerRuntime;
  readonly podCache: PodCache;
  /** Receives events in order; must return quickly. Upstream: the channel of Watch(). */
  readonly plegCh: (event: PodLifecycleEvent) => void;
  /** Name and namespace of a desired pod, so that it can be inspected before any relist has shown it. */
  readonly identityOf: (uid: string) => PodIdentity | undefined;
}

interface SeenRecord {
  readonly record: PodRecord | undefined;
  readonly stamp: ObservationStamp;
}

interface Inspection {
  readonly pod: PodIdentity;
  again: boolean;
  /** Resolves after the last requested inspection. */
  done: Promise<void>;
}

export function createGenericPleg(
  deps: GenericPlegDeps,
  config: { relistPeriodMs: number },
): PodLifecycleEventGenerator {
  return new GenericPleg(deps, config);
}

class GenericPleg implements PodLifecycleEventGenerator {
  readonly #deps: GenericPlegDeps;
  readonly #config: { relistPeriodMs: number };
  readonly #log: Log;
  readonly #metrics: PlegMetrics;
  readonly #events: RuntimeEvents;
  readonly #podRecords = new Map<string, SeenRecord>();
  readonly #inspections = new Map<string, Inspection>();
  /** Pods whose inspection failed. The next relist inspects them again. */
  readonly #podsToReinspect = new Map<string, PodIdentity>();
  #relistPeriodMs: number;
  #lastRelistMs: number | undefined;
  #lastRelistStartMs: number | undefined;
  #relisting: Promise<void> | undefined;
  #relistAgain = false;
  #cancelRelistTimer: CancelTimer | undefined;
  #lifetime: AbortSignal | undefined;

  constructor(deps: GenericPlegDeps, config: { relistPeriodMs: number }) {
    this.#deps = deps;
    this.#config = config;
    this.#log = deps.platform.log.child('pleg');
    this.#metrics = createPlegMetrics(deps.platform.metrics);
    this.#events = new RuntimeEvents(deps.platform.clock, (events) => this.#inspectAfterEvents(events));
    this.#relistPeriodMs = config.relistPeriodMs;
  }

  requestReinspect(pod: PodIdentity): void {
    background(this.#log, 'pods could not be listed again', this.#reinspect(pod));
  }

  relist(): Promise<void> {
    this.#relisting ??= this.#relistOnce().finally(() => {
      this.#relisting = undefined;
      if (this.#relistAgain && this.#lifetime?.aborted === false) {
        this.#relistAgain = false;
        background(this.#log, 'pods could not be listed again', this.relist());
      } else this.#setRelistTimer();
    });
    return this.#relisting;
  }

  noteRuntimeEvent(uid: string): void {
    this.#events.add(uid, this.#deps.podCache.now());
  }

  holdEvents(uid: string): () => void {
    return this.#events.hold(uid);
  }

  start(signal: AbortSignal): void {
    this.#lifetime = signal;
    this.#deps.podCache.onWait((pod) => this.requestReinspect(pod));
    this.#events.start(signal);
    onAbort(signal, () => this.#cancelRelistTimer?.());
    background(this.#log, 'pods could not be listed again', this.relist());
  }

  setRelistPeriod(periodMs: number): void {
    if (periodMs === this.#relistPeriodMs) return;
    this.#relistPeriodMs = periodMs;
    this.#setRelistTimer();
  }

  healthProblem(): string | undefined {
    if (this.#lastRelistMs === undefined) return 'pleg has yet to be successful';
    const elapsedMs = this.#deps.platform.clock.monotonicMs() - this.#lastRelistMs;
    if (elapsedMs <= RELIST_THRESHOLD_MS) return undefined;
    return `pleg was last seen active ${Math.floor(elapsedMs / 1000)}s ago; threshold is 3m0s`;
  }

  #updateRecord(uid: string, seen: SeenRecord): readonly PodLifecycleEvent[] {
    const before = this.#podRecords.get(uid);
    if (before !== undefined && before.stamp > seen.stamp) return [];
    if (seen.record === undefined) this.#podRecords.delete(uid);
    else this.#podRecords.set(uid, seen);
    return computeEvents(before?.record, seen.record);
  }

  #emit(events: readonly PodLifecycleEvent[]): void {
    for (const event of events) this.#deps.plegCh(event);
  }

  /** Inspects the pod now, or once more after the inspection in progress. */
  #reinspect(pod: PodIdentity): Promise<void> {
    const inProgress = this.#inspections.get(pod.uid);
    if (inProgress !== undefined) {
      inProgress.again = true;
      return inProgress.done;
    }
    const inspection: Inspection = { pod, again: false, done: Promise.resolve() };
    this.#inspections.set(pod.uid, inspection);
    inspection.done = this.#inspectUntilDone(inspection);
    return inspection.done;
  }

  async #inspectUntilDone(inspection: Inspection): Promise<void> {
    do {
      inspection.again = false;
      await this.#inspect(inspection.pod);
    } while (inspection.again && this.#lifetime?.aborted !== true);
    this.#inspections.delete(inspection.pod.uid);
  }

  async #inspect(pod: PodIdentity): Promise<void> {
    const stamp = this.#deps.podCache.beginObservation();
    try {
      const status = await this.#deps.runtime.getPodStatus(pod.uid, pod.name, pod.namespace);
      this.#podsToReinspect.delete(pod.uid);
      const record = recordOfPodStatus(status);
      const events = this.#updateRecord(pod.uid, { record, stamp });
      this.#deps.podCache.set(pod.uid, { status, stamp });
      this.#emit(events);
    } catch (error) {
      this.#log.error('PLEG: Ignoring events for pod', {
        pod: `${pod.namespace}/${pod.name}`,
        podUID: pod.uid,
        err: error,
      });
      this.#podsToReinspect.set(pod.uid, pod);
      this.#setRelistTimer();
      this.#deps.podCache.set(pod.uid, {
        status: emptyPodStatus(pod),
        error: error instanceof Error ? error : new Error(String(error)),
        stamp,
      });
    }
  }

  async #relistOnce(): Promise<void> {
    const startedMs = this.#deps.platform.clock.monotonicMs();
    if (this.#lastRelistStartMs !== undefined)
      this.#metrics.interval.observe((startedMs - this.#lastRelistStartMs) / 1000);
    const stamp = this.#deps.podCache.beginObservation();
    let pods: readonly RuntimePod[];
    try {
      pods = await this.#deps.runtime.getPods(true);
    } catch (error) {
      this.#log.error('GenericPLEG: Unable to retrieve pods', { err: error });
      return;
    }
    this.#lastRelistMs = this.#deps.platform.clock.monotonicMs();
    this.#lastRelistStartMs = startedMs;
    this.#metrics.lastSeen.set(Math.floor(this.#deps.platform.clock.nowMs() / 1000));
    await this.#updateFromListing(pods, stamp);
    this.#metrics.duration.observe((this.#deps.platform.clock.monotonicMs() - startedMs) / 1000);
  }

  async #updateFromListing(pods: readonly RuntimePod[], stamp: ObservationStamp): Promise<void> {
    const listed = new Map(pods.map((pod) => [pod.uid, recordOfRuntimePod(pod)]));
    const changed = new Map<string, PodIdentity>(this.#podsToReinspect);
    for (const [uid, record] of listed) {
      const before = this.#podRecords.get(uid);
      if (before !== undefined && before.stamp > stamp) continue;
      if (computeEvents(before?.record, record).length > 0) changed.set(uid, record);
    }
    for (const [uid, before] of [...this.#podRecords]) {
      if (listed.has(uid) || before.stamp > stamp) continue;
      const events = this.#updateRecord(uid, { record: undefined, stamp });
      changed.delete(uid);
      this.#podsToReinspect.delete(uid);
      this.#deps.podCache.delete(uid, stamp);
      this.#emit(events);
    }
    // The inspection updates the record and emits the events, from a state at least as new as the listing.
    await Promise.all([...changed.values()].map((pod) => this.#reinspect(pod)));
    this.#deps.podCache.keepOnly(listed, stamp);
    this.#deps.podCache.updateTime(stamp);
  }

  #inspectAfterEvents(events: readonly (readonly [uid: string, stamp: ObservationStamp])[]): void {
    for (const [uid, stamp] of events) {
      const seen = this.#podRecords.get(uid);
      if (seen !== undefined && seen.stamp > stamp) continue;
      const pod = seen?.record ?? this.#inspections.get(uid)?.pod ?? this.#deps.identityOf(uid);
      if (pod !== undefined) this.requestReinspect(pod);
      // A relist that began before the event may have missed it.
      else if (this.#relisting !== undefined) this.#relistAgain = true;
      else background(this.#log, 'pods could not be listed again', this.relist());
    }
  }

  #setRelistTimer(): void {
    this.#cancelRelistTimer?.();
    this.#cancelRelistTimer = undefined;
    if (this.#lifetime === undefined || this.#lifetime.aborted || this.#relisting !== undefined) return;
    // A failed inspection is repeated after the short period.
    const periodMs =
      this.#podsToReinspect.size > 0
        ? Math.min(this.#relistPeriodMs, this.#config.relistPeriodMs)
        : this.#relistPeriodMs;
    this.#cancelRelistTimer = this.#deps.platform.clock.setTimer(periodMs, () =>
      background(this.#log, 'pods could not be listed again', this.relist()),
    );
  }
}
