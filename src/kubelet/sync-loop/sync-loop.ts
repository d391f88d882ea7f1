/**
 * The kubelet's main loop: takes the messages of the pod sources, the PLEG, the probes and the work queue from their channels,
 * and calls the handlers. Upstream: syncLoop and syncLoopIteration in pkg/kubelet/kubelet.go.
 *
 * Invariants: messages of one channel are handled in order, none is lost; no handler waits, so a slow pod never holds up another;
 * while the runtime has errors nothing is handled, with pauses of 100 ms up to 5 s. A message is handled in the turn it arrives.
 * Housekeeping runs beside the loop (housekeeping.ts). Differs: upstream wakes every second; here the loop sleeps until a message
 * comes or housekeeping is due, so an idle node does nothing.
 */
import { onAbort } from '../../base/abort.ts';
import { createBackoff } from '../../base/backoff.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { PodLifecycleEvent } from '../pleg/pod-records.ts';
import type { ActivitySink } from '../pod/activity-recorder.ts';
import type { ProbeUpdate } from '../prober/results.ts';
import { podFields, podUid, type PodUpdate } from '../types/pod-update.ts';
import { background } from '../../platform/unexpected.ts';
import type { SyncLoopChannels, SyncLoopMessages } from './channels.ts';
import { Housekeeping } from './housekeeping.ts';

/** The work queue wakes the loop itself; this tick shows that the loop still runs. */
const SYNC_PERIOD_MS = 30_000;
/** A loop without an iteration for this long is unhealthy. */
const MONITOR_THRESHOLD_MS = 2 * 60_000;

/** The callbacks of the loop. Names as upstream's SyncHandler. */
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
  readonly channels: SyncLoopChannels;
  readonly handler: SyncHandler;
  /** Records the messages of pods that are being observed. */
  readonly activity?: ActivitySink;
  readonly runtimeErrors: () => readonly string[];
  readonly allSourcesReady: () => boolean;
  readonly addSource: (update: PodUpdate) => void;
  /** Pods of the work queue that are due. */
  readonly getPodsToSync: () => readonly Pod[];
  readonly getPodByUid: (uid: string) => Pod | undefined;
  readonly handleProbeSync: (update: ProbeUpdate) => void;
  /** Removes dead containers that the pod no longer needs, now that another one has ended. */
  readonly cleanUpContainersInPod: (podUid: string, containerId: string) => void;
}

export interface SyncLoop {
  /** Ends a pause for runtime errors. */
  runtimeRecovered(): void;
  /** Runs until the signal aborts. */
  start(signal: AbortSignal): void;
  /** Why the loop is unhealthy; undefined when healthy. */
  healthProblem(): string | undefined;
}

/** Messages sent before the start are handled at the start. */
export function createSyncLoop(deps: SyncLoopDeps): SyncLoop {
  return new KubeletSyncLoop(deps);
}

class KubeletSyncLoop implements SyncLoop {
  readonly #deps: SyncLoopDeps;
  readonly #log: Log;
  readonly #housekeeping: Housekeeping;
  #wake = Promise.withResolvers<void>();
  #recovered = Promise.withResolvers<void>();
  /** When the last iteration began, monotonic. */
  #syncLoopMonitorMs: number | undefined;

  constructor(deps: SyncLoopDeps) {
    this.#deps = deps;
    this.#log = deps.platform.log.child('sync-loop');
    this.#housekeeping = new Housekeeping({
      clock: deps.platform.clock,
      log: this.#log,
      allSourcesReady: deps.allSourcesReady,
      handlePodCleanups: () => deps.handler.handlePodCleanups(),
      onDue: () => this.#wake.resolve(),
    });
    deps.channels.onMessage(() => this.#wake.resolve());
  }

  start(signal: AbortSignal): void {
    const cancelTicker = this.#deps.platform.clock.setTicker(SYNC_PERIOD_MS, this.#deps.channels.syncCh);
    this.#housekeeping.start();
    onAbort(signal, () => {
      cancelTicker();
      this.#housekeeping.stop();
      this.#wake.resolve();
    });
    background(this.#log, 'the sync loop broke off', this.#run(signal));
  }

  runtimeRecovered(): void {
    this.#recovered.resolve();
  }

  healthProblem(): string | undefined {
    if (this.#syncLoopMonitorMs === undefined) return 'sync loop has not started yet';
    const idleMs = this.#deps.platform.clock.monotonicMs() - this.#syncLoopMonitorMs;
    return idleMs > MONITOR_THRESHOLD_MS
      ? `sync Loop took longer than expected: ${Math.floor(idleMs / 1000)}s`
      : undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const backoff = createBackoff({ initialMs: 100, maxMs: 5_000 });
    this.#log.info('Starting kubelet main sync loop');
    while (!signal.aborted) {
      const errors = this.#deps.runtimeErrors();
      if (errors.length > 0) {
        this.#log.error('Skipping pod synchronization', { err: errors.join(', ') });
        await this.#pause(backoff.nextMs(), signal);
        continue;
      }
      backoff.reset();
      this.#syncLoopMonitorMs = this.#deps.platform.clock.monotonicMs();
      this.#wake = Promise.withResolvers();
      this.#syncLoopIteration();
      await this.#wake.promise;
    }
    await this.#housekeeping.finished();
  }

  /** Sleeps until the delay is over, the runtime has recovered or the signal aborts. */
  async #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    this.#recovered = Promise.withResolvers();
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    await Promise.race([this.#recovered.promise, sleepUnlessAborted(this.#deps.platform.clock, delayMs, either)]);
    over.abort();
  }

  /** Handles all waiting messages, one channel after the other. */
  #syncLoopIteration(): void {
    const { configs, plegEvents, probes, syncDue } = this.#deps.channels.receive();
    if (configs.length > 0 || plegEvents.length > 0) this.#housekeeping.runSoon();
    if (this.#deps.activity?.active === true) recordMessages(this.#deps.activity, { configs, plegEvents, probes });
    for (const update of configs) this.#handleConfig(update);
    for (const event of plegEvents) this.#handlePlegEvent(event);
    for (const update of probes) this.#deps.handleProbeSync(update);
    if (syncDue) this.#handleSyncTick();
    this.#housekeeping.runIfDue();
  }

  #handleConfig(update: PodUpdate): void {
    const { handler } = this.#deps;
    const names = update.pods.map((pod) => `${pod.metadata.namespace}/${pod.metadata.name}`);
    this.#log.debug(`SyncLoop ${update.op}`, { source: update.source, pods: names });
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
    const wereReady = this.#deps.allSourcesReady();
    this.#deps.addSource(update);
    // All desired pods are known from now on: whatever else runs is an orphan.
    if (!wereReady && this.#deps.allSourcesReady()) this.#housekeeping.runNow();
  }

  #handlePlegEvent(event: PodLifecycleEvent): void {
    if (isSyncPodWorthy(event)) {
      const pod = this.#deps.getPodByUid(event.id);
      if (pod === undefined) this.#log.debug('SyncLoop (PLEG): pod does not exist, ignore irrelevant event', { event });
      else {
        this.#log.debug('SyncLoop (PLEG): event for pod', { ...podFields(pod), event });
        this.#deps.handler.handlePodSyncs([pod]);
      }
    }
    if (event.type === 'ContainerDied') this.#deps.cleanUpContainersInPod(event.id, event.data);
  }

  #handleSyncTick(): void {
    const pods = this.#deps.getPodsToSync();
    if (this.#deps.activity?.active === true)
      for (const pod of pods) this.#deps.activity.event(podUid(pod), 'timer', 'due');
    if (pods.length > 0) this.#deps.handler.handlePodSyncs(pods);
  }
}

/** Whether the event's pod must be synced. A removed container changes nothing for its pod. */
function isSyncPodWorthy(event: PodLifecycleEvent): boolean {
  return event.type !== 'ContainerRemoved';
}

function recordMessages(
  activity: ActivitySink,
  { configs, plegEvents, probes }: Omit<SyncLoopMessages, 'syncDue'>,
): void {
  for (const { op, pods } of configs) for (const pod of pods) activity.event(podUid(pod), 'source', op);
  for (const { id, type } of plegEvents) activity.event(id, 'pleg', type);
  for (const { podUid: uid, type, result } of probes) activity.event(uid, 'probe', `${type} ${result}`);
}
