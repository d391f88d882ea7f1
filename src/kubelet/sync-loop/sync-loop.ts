/**
 * The kubelet's main loop: takes what comes from the sources (configCh), the PLEG (plegCh), the probes, the sync timer
 * (syncCh) and the housekeeping timer (housekeepingCh), and hands it to the handlers. Upstream: syncLoop and
 * syncLoopIteration in pkg/kubelet/kubelet.go.
 *
 * Invariants: messages of one channel are handled in order, none is lost (queues are unbounded); no handler waits, so a
 * slow pod never holds up another; while the runtime has errors nothing is handled, with pauses of 100 ms up to 5 s.
 * A message is handled in the turn it arrives. Housekeeping runs beside the loop and never overlaps itself. Differs: upstream
 * wakes every second and every other second; here both timers stand at the next thing due, so a node at rest sleeps.
 */
import { onAbort } from '../../base/abort.ts';
import { createBackoff } from '../../base/backoff.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { sleepUnlessAborted, type CancelTimer } from '../../platform/clock.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { PodLifecycleEvent } from '../pleg/pod-records.ts';
import type { ProbeUpdate } from '../prober/results.ts';
import { podFields, type PodUpdate } from '../types/pod-update.ts';
import { background } from '../../platform/unexpected.ts';

/** Pods due for a sync ring the loop themselves; this only catches what they would miss, and shows that the loop turns. */
const SYNC_PERIOD_MS = 30_000;
/** Housekeeping follows a change in so long. */
const HOUSEKEEPING_PERIOD_MS = 2_000;
/** Housekeeping runs at least this often even when nothing happened. */
const HOUSEKEEPING_IDLE_PERIOD_MS = 30_000;
const HOUSEKEEPING_WARNING_MS = 1_000;
/** A loop that has not turned for so long is unhealthy. */
const MONITOR_THRESHOLD_MS = 2 * 60_000;

/** What the loop calls. Names as upstream's SyncHandler. */
export interface SyncHandler {
  handlePodAdditions(pods: readonly Pod[]): void;
  handlePodUpdates(pods: readonly Pod[]): void;
  handlePodRemoves(pods: readonly Pod[]): void;
  handlePodReconcile(pods: readonly Pod[]): void;
  handlePodSyncs(pods: readonly Pod[]): void;
  handlePodCleanups(): Promise<void>;
}

export interface SyncLoopDeps {
  readonly platform: BasePlatform;
  readonly handler: SyncHandler;
  readonly runtimeErrors: () => readonly string[];
  readonly allSourcesReady: () => boolean;
  readonly addSource: (update: PodUpdate) => void;
  /** Pods due for another sync. */
  readonly podsToSync: () => readonly Pod[];
  readonly podByUid: (uid: string) => Pod | undefined;
  /** A probe's result changed: status first, then the pod is synced. */
  readonly onProbeUpdate: (update: ProbeUpdate) => void;
  /** A container ended: superfluous dead ones may go. */
  readonly cleanUpContainersInPod: (podUid: string, containerId: string) => void;
}

export interface SyncLoop {
  readonly configCh: (update: PodUpdate) => void;
  readonly plegCh: (event: PodLifecycleEvent) => void;
  readonly probeCh: (update: ProbeUpdate) => void;
  /** Something is due: look at the work queue now. */
  readonly syncCh: () => void;
  /** Ends a pause for runtime errors. */
  runtimeRecovered(): void;
  /** Runs until the signal aborts. */
  start(signal: AbortSignal): void;
  /** Why the loop is unhealthy; undefined when healthy. */
  healthProblem(): string | undefined;
}

/** Makes a loop. Messages may come before it is started. */
export function createSyncLoop(deps: SyncLoopDeps): SyncLoop {
  const { handler } = deps;
  const { clock } = deps.platform;
  const log = deps.platform.log.child('sync-loop');
  const configs: PodUpdate[] = [];
  const plegEvents: PodLifecycleEvent[] = [];
  const probes: ProbeUpdate[] = [];
  let syncDue = false;
  let housekeepingDue = false;
  let housekeepingTimer: { readonly dueMs: number; readonly cancel: CancelTimer } | undefined;
  let housekeeping: Promise<void> | undefined;
  let stopped = false;
  let wake = Promise.withResolvers<void>();
  let recovered = Promise.withResolvers<void>();
  let syncLoopMonitor: number | undefined;

  function ring(): void {
    wake.resolve();
  }

  function handleConfig(update: PodUpdate): void {
    const names = update.pods.map((pod) => `${pod.metadata.namespace}/${pod.metadata.name}`);
    log.debug(`SyncLoop ${update.op}`, { source: update.source, pods: names });
    switch (update.op) {
      case 'ADD':
        handler.handlePodAdditions(update.pods);
        break;
      case 'UPDATE':
      case 'DELETE':
        // A graceful deletion is an update: the containers are stopped within their grace period.
        handler.handlePodUpdates(update.pods);
        break;
      case 'REMOVE':
        handler.handlePodRemoves(update.pods);
        break;
      case 'RECONCILE':
        handler.handlePodReconcile(update.pods);
        break;
      case 'SET':
        throw new Error('the kubelet does not support snapshot updates');
    }
    const wereReady = deps.allSourcesReady();
    deps.addSource(update);
    // Now it is known what is wanted here: orphans can be told from pods at once.
    if (!wereReady && deps.allSourcesReady()) housekeepingDue = true;
  }

  function handlePlegEvent(event: PodLifecycleEvent): void {
    if (isSyncPodWorthy(event)) {
      const pod = deps.podByUid(event.id);
      if (pod === undefined) log.debug('SyncLoop (PLEG): pod does not exist, ignore irrelevant event', { event });
      else {
        log.debug('SyncLoop (PLEG): event for pod', { ...podFields(pod), event });
        handler.handlePodSyncs([pod]);
      }
    }
    if (event.type === 'ContainerDied') deps.cleanUpContainersInPod(event.id, event.data);
  }

  function handleSyncTick(): void {
    const pods = deps.podsToSync();
    if (pods.length > 0) handler.handlePodSyncs(pods);
  }

  /** Sets the timer, unless it stands earlier. */
  function armHousekeeping(delayMs: number): void {
    const dueMs = clock.monotonicMs() + delayMs;
    if (stopped || (housekeepingTimer !== undefined && housekeepingTimer.dueMs <= dueMs)) return;
    housekeepingTimer?.cancel();
    const cancel = clock.setTimer(delayMs, () => {
      housekeepingTimer = undefined;
      housekeepingDue = true;
      ring();
    });
    housekeepingTimer = { dueMs, cancel };
  }

  function handleHousekeeping(): void {
    armHousekeeping(HOUSEKEEPING_IDLE_PERIOD_MS);
    if (!deps.allSourcesReady()) {
      // Pods of a source not yet heard of would look like orphans.
      log.debug('SyncLoop (housekeeping, skipped): sources are not ready yet');
      return;
    }
    if (housekeeping !== undefined) {
      armHousekeeping(HOUSEKEEPING_PERIOD_MS);
      return;
    }
    const startedMs = clock.monotonicMs();
    housekeeping = handler
      .handlePodCleanups()
      .catch((error: unknown) => {
        armHousekeeping(HOUSEKEEPING_PERIOD_MS);
        log.error('Failed cleaning pods', { err: error });
      })
      .finally(() => {
        housekeeping = undefined;
        const tookMs = clock.monotonicMs() - startedMs;
        if (tookMs > HOUSEKEEPING_WARNING_MS)
          log.warn('Housekeeping took longer than expected', { expected: '1s', actual: `${tookMs}ms` });
      });
  }

  /** Handles everything that waits, one channel after the other. */
  function syncLoopIteration(): void {
    if (configs.length > 0 || plegEvents.length > 0) armHousekeeping(HOUSEKEEPING_PERIOD_MS);
    for (const update of configs.splice(0)) handleConfig(update);
    for (const event of plegEvents.splice(0)) handlePlegEvent(event);
    for (const update of probes.splice(0)) deps.onProbeUpdate(update);
    if (syncDue) {
      syncDue = false;
      handleSyncTick();
    }
    if (housekeepingDue) {
      housekeepingDue = false;
      handleHousekeeping();
    }
  }

  /** Sleeps, but no longer than until the runtime is back. */
  async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
    recovered = Promise.withResolvers();
    const over = new AbortController();
    await Promise.race([recovered.promise, sleepUnlessAborted(clock, delayMs, AbortSignal.any([signal, over.signal]))]);
    over.abort();
  }

  async function run(signal: AbortSignal): Promise<void> {
    const backoff = createBackoff({ initialMs: 100, maxMs: 5_000 });
    log.info('Starting kubelet main sync loop');
    while (!signal.aborted) {
      const errors = deps.runtimeErrors();
      if (errors.length > 0) {
        log.error('Skipping pod synchronization', { err: errors.join(', ') });
        await pause(backoff.nextMs(), signal);
        continue;
      }
      backoff.reset();
      syncLoopMonitor = clock.monotonicMs();
      wake = Promise.withResolvers();
      syncLoopIteration();
      await wake.promise;
    }
    await housekeeping;
  }

  return {
    configCh: (update) => {
      configs.push(update);
      ring();
    },
    plegCh: (event) => {
      plegEvents.push(event);
      ring();
    },
    probeCh: (update) => {
      probes.push(update);
      ring();
    },
    syncCh: () => {
      syncDue = true;
      ring();
    },
    runtimeRecovered: () => recovered.resolve(),
    start(signal) {
      const cancelTicker = clock.setTicker(SYNC_PERIOD_MS, () => {
        syncDue = true;
        ring();
      });
      armHousekeeping(HOUSEKEEPING_PERIOD_MS);
      onAbort(signal, () => {
        cancelTicker();
        stopped = true;
        housekeepingTimer?.cancel();
        ring();
      });
      background(log, 'the sync loop broke off', run(signal));
    },
    healthProblem() {
      if (syncLoopMonitor === undefined) return 'sync loop has not started yet';
      const idleMs = clock.monotonicMs() - syncLoopMonitor;
      return idleMs > MONITOR_THRESHOLD_MS
        ? `sync Loop took longer than expected: ${Math.floor(idleMs / 1000)}s`
        : undefined;
    },
  };
}

/** Whether the pod of this event is to be synced. A removed container changes nothing for its pod. */
export function isSyncPodWorthy(event: PodLifecycleEvent): boolean {
  return event.type !== 'ContainerRemoved';
}
