/**
 * Pod lifecycle event generator: looks at the runtime, keeps the pod cache fresh and tells the sync loop what changed.
 * Upstream: pkg/kubelet/pleg/generic.go.
 *
 * Two ways to look: `relist` lists all pods and inspects those that changed; `requestReinspect` inspects one pod at once
 * (after its sync, on a runtime event, when a worker waits for its status). Inspections of one pod never overlap; a
 * request during one causes exactly one more. Every sighting carries a stamp taken before the runtime was asked, and an
 * older sighting never replaces a newer one. Events go to an unbounded queue: none is ever dropped, and each is only a
 * wake-up, sent after the cache holds the status it speaks of.
 */
import { onAbort } from '../../base/abort.ts';
import type { CancelTimer } from '../../platform/clock.ts';
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
import { background } from '../../platform/unexpected.ts';

/** Relisting less often than this makes the kubelet unhealthy. Upstream: 3 minutes. */
const RELIST_THRESHOLD_MS = 180_000;

/** Events of one pod come in bursts: created, started, stopped. */
const EVENT_SETTLE_MS = 10;

export interface PodLifecycleEventGenerator {
  /** First relist at once, then one per period, until the signal aborts. */
  start(signal: AbortSignal): void;
  /** Inspects the pod now (or right after the inspection under way). */
  requestReinspect(pod: PodIdentity): void;
  /**
   * Something happened to the pod of this uid: inspects it in a moment, with all that happens to it until then, unless it
   * was inspected meanwhile (as after its sync). Relists if it was never seen.
   */
  noteRuntimeEvent(uid: string): void;
  /**
   * The pod's worker acts on it and inspects it afterwards: events until `release` wait for that, and are dropped by it
   * when it came later. Requested inspections and relists are not held.
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
  /** Name and namespace of a configured pod: its first containers can be looked at before any listing showed them. */
  readonly identityOf: (uid: string) => PodIdentity | undefined;
}

interface Sighting {
  readonly record: PodRecord | undefined;
  readonly stamp: ObservationStamp;
}

interface Inspection {
  readonly pod: PodIdentity;
  again: boolean;
  /** Ends when no further look is wanted. */
  done: Promise<void>;
}

/** Makes a generator. */
export function createGenericPleg(
  deps: GenericPlegDeps,
  config: { relistPeriodMs: number },
): PodLifecycleEventGenerator {
  const { clock } = deps.platform;
  const log = deps.platform.log.child('pleg');
  const relistDuration = deps.platform.metrics.histogram({
    name: 'kubelet_pleg_relist_duration_seconds',
    help: 'Duration in seconds for relisting pods in PLEG.',
  });
  const relistInterval = deps.platform.metrics.histogram({
    name: 'kubelet_pleg_relist_interval_seconds',
    help: 'Interval in seconds between relisting in PLEG.',
  });
  const lastSeen = deps.platform.metrics.gauge({
    name: 'kubelet_pleg_last_seen_seconds',
    help: 'Timestamp in seconds when PLEG was last seen active.',
  });
  const sightings = new Map<string, Sighting>();
  const inspections = new Map<string, Inspection>();
  /** Pods whose inspection failed: the next relist tries again. */
  const podsToReinspect = new Map<string, PodIdentity>();
  let relistPeriodMs = config.relistPeriodMs;
  let lastRelistMs: number | undefined;
  let lastStartMs: number | undefined;
  let relisting: Promise<void> | undefined;
  let relistAgain = false;
  /** Pods something happened to, with the order of the last event among the observations. */
  const events = new Map<string, ObservationStamp>();
  const held = new Set<string>();
  let cancelEvents: CancelTimer | undefined;
  let cancelTimer: CancelTimer | undefined;
  let running: AbortSignal | undefined;

  function noteRecord(uid: string, sighting: Sighting): readonly PodLifecycleEvent[] {
    const before = sightings.get(uid);
    if (before !== undefined && before.stamp > sighting.stamp) return [];
    if (sighting.record === undefined) sightings.delete(uid);
    else sightings.set(uid, sighting);
    return computeEvents(before?.record, sighting.record);
  }

  function emit(events: readonly PodLifecycleEvent[]): void {
    for (const event of events) deps.plegCh(event);
  }

  // ---- one pod --------------------------------------------------------------------------------------------------

  function requestReinspect(pod: PodIdentity): void {
    background(log, 'pods could not be listed again', reinspect(pod));
  }

  /** Looks at the pod from now on, after the look under way if there is one. */
  function reinspect(pod: PodIdentity): Promise<void> {
    const under = inspections.get(pod.uid);
    if (under !== undefined) {
      under.again = true;
      return under.done;
    }
    const inspection: Inspection = { pod, again: false, done: Promise.resolve() };
    inspections.set(pod.uid, inspection);
    inspection.done = inspectUntilDone(inspection);
    return inspection.done;
  }

  async function inspectUntilDone(inspection: Inspection): Promise<void> {
    do {
      inspection.again = false;
      await inspect(inspection.pod);
    } while (inspection.again && running?.aborted !== true);
    inspections.delete(inspection.pod.uid);
  }

  async function inspect(pod: PodIdentity): Promise<void> {
    const stamp = deps.podCache.beginObservation();
    try {
      const status = await deps.runtime.getPodStatus(pod.uid, pod.name, pod.namespace);
      podsToReinspect.delete(pod.uid);
      const record = recordOfPodStatus(status);
      const events = noteRecord(pod.uid, { record, stamp });
      deps.podCache.set(pod.uid, { status, stamp });
      emit(events);
    } catch (error) {
      log.error('PLEG: Ignoring events for pod', { pod: `${pod.namespace}/${pod.name}`, podUID: pod.uid, err: error });
      podsToReinspect.set(pod.uid, pod);
      arm();
      deps.podCache.set(pod.uid, {
        status: emptyPodStatus(pod),
        error: error instanceof Error ? error : new Error(String(error)),
        stamp,
      });
    }
  }

  // ---- all pods -------------------------------------------------------------------------------------------------

  function relist(): Promise<void> {
    relisting ??= relistOnce().finally(() => {
      relisting = undefined;
      if (relistAgain && running?.aborted === false) {
        relistAgain = false;
        background(log, 'pods could not be listed again', relist());
      } else arm();
    });
    return relisting;
  }

  async function relistOnce(): Promise<void> {
    const startedMs = clock.monotonicMs();
    if (lastStartMs !== undefined) relistInterval.observe((startedMs - lastStartMs) / 1000);
    const stamp = deps.podCache.beginObservation();
    let pods: readonly RuntimePod[];
    try {
      pods = await deps.runtime.getPods(true);
    } catch (error) {
      log.error('GenericPLEG: Unable to retrieve pods', { err: error });
      return;
    }
    lastRelistMs = clock.monotonicMs();
    lastStartMs = startedMs;
    lastSeen.set(Math.floor(clock.nowMs() / 1000));
    await updateFromListing(pods, stamp);
    relistDuration.observe((clock.monotonicMs() - startedMs) / 1000);
  }

  async function updateFromListing(pods: readonly RuntimePod[], stamp: ObservationStamp): Promise<void> {
    const listed = new Map(pods.map((pod) => [pod.uid, recordOfRuntimePod(pod)]));
    const changed = new Map<string, PodIdentity>(podsToReinspect);
    for (const [uid, record] of listed) {
      const before = sightings.get(uid);
      if (before !== undefined && before.stamp > stamp) continue;
      if (computeEvents(before?.record, record).length > 0) changed.set(uid, record);
    }
    for (const [uid, before] of [...sightings]) {
      if (listed.has(uid) || before.stamp > stamp) continue;
      const events = noteRecord(uid, { record: undefined, stamp });
      changed.delete(uid);
      podsToReinspect.delete(uid);
      deps.podCache.delete(uid, stamp);
      emit(events);
    }
    // The inspection itself notes the record and emits the events, from a state at least as new as the listing.
    await Promise.all([...changed.values()].map(reinspect));
    deps.podCache.updateTime(stamp);
  }

  function armEvents(): void {
    if (cancelEvents !== undefined || running?.aborted !== false) return;
    cancelEvents = clock.setTimer(EVENT_SETTLE_MS, inspectAfterEvents);
  }

  function inspectAfterEvents(): void {
    cancelEvents = undefined;
    const due = [...events].filter(([uid]) => !held.has(uid));
    for (const [uid] of due) events.delete(uid);
    for (const [uid, stamp] of due) {
      const sighting = sightings.get(uid);
      if (sighting !== undefined && sighting.stamp > stamp) continue;
      const pod = sighting?.record ?? inspections.get(uid)?.pod ?? deps.identityOf(uid);
      if (pod !== undefined) requestReinspect(pod);
      // What began before the event may have missed it: once more after it.
      else if (relisting !== undefined) relistAgain = true;
      else background(log, 'pods could not be listed again', relist());
    }
  }

  function arm(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    if (running === undefined || running.aborted || relisting !== undefined) return;
    // A failed inspection is not left alone for a long period.
    const periodMs = podsToReinspect.size > 0 ? Math.min(relistPeriodMs, config.relistPeriodMs) : relistPeriodMs;
    cancelTimer = clock.setTimer(periodMs, () => background(log, 'pods could not be listed again', relist()));
  }

  return {
    relist,
    requestReinspect,
    noteRuntimeEvent(uid) {
      events.set(uid, deps.podCache.now());
      armEvents();
    },
    holdEvents(uid) {
      held.add(uid);
      return () => {
        held.delete(uid);
        if (events.has(uid)) armEvents();
      };
    },
    start(signal) {
      running = signal;
      deps.podCache.onWait(requestReinspect);
      onAbort(signal, () => {
        cancelTimer?.();
        cancelEvents?.();
      });
      background(log, 'pods could not be listed again', relist());
    },
    setRelistPeriod(periodMs) {
      if (periodMs === relistPeriodMs) return;
      relistPeriodMs = periodMs;
      arm();
    },
    healthProblem() {
      if (lastRelistMs === undefined) return 'pleg has yet to be successful';
      const elapsedMs = clock.monotonicMs() - lastRelistMs;
      if (elapsedMs <= RELIST_THRESHOLD_MS) return undefined;
      return `pleg was last seen active ${Math.floor(elapsedMs / 1000)}s ago; threshold is 3m0s`;
    },
  };
}
