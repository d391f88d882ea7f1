/**
 * Holds the newest status of every pod and writes it to the API server. Upstream:
 * pkg/kubelet/status/status_manager.go.
 *
 * Invariants: statuses are versioned and the last written version is remembered, so no change is lost and none is
 * written twice; at most one write per pod is in progress, and a change during it causes one more; a write contains
 * only what changed. A terminating pod is deleted from the API (grace 0, with its uid as precondition) once its phase
 * is terminal and its resources are cleaned up. Upstream writes in batches, checking every 10 s; here each change is
 * written at once, and the tick only retries and reconciles.
 */
import { onAbort } from '../../base/abort.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Client, ResourceClient } from '../../client/client.ts';
import type { Log } from '../../platform/log.ts';
import type { Histogram } from '../../platform/metrics.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { PodManagerView } from '../pod/pod-manager.ts';
import type { PodStartSteps } from '../pod/start-steps.ts';
import { isMirrorPod, isStaticPod, podFields, podName, podNamespace, podUid } from '../types/pod-update.ts';
import { finalPodStatus } from './final-status.ts';
import {
  checkContainerStateTransition,
  isStatusEqualByKubelet,
  mergePodStatus,
  withSharedFields,
  withTransitionTimes,
} from './merge.ts';
import { withContainerChange } from './container-change.ts';
import { WrittenPods } from './written-pods.ts';
import { podStatusPatch } from './status-patch.ts';
import { PodStatusSyncs } from './pod-status-syncs.ts';

const SYNC_PERIOD_MS = 10_000;

export interface StatusManager {
  /** Writes statuses until the signal aborts; failed writes are repeated every 10 s. */
  start(signal: AbortSignal): void;
  /** Newest status, sent or not. */
  getPodStatus(uid: string): PodStatus | undefined;
  setPodStatus(pod: Pod, status: PodStatus): void;
  /** Sets a readiness probe's result in status and conditions. `containerId` has no scheme. */
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void;
  setContainerStartup(uid: string, containerId: string, started: boolean): void;
  /** Sets the final status of a pod after cleanup; the pod may then be deleted from the API. */
  terminatePod(pod: Pod): void;
  /** Writes the status or deletes the pod, if the new version of the pod requires it. */
  podChanged(pod: Pod): void;
  /** Writes every status that needs it. */
  syncAll(): void;
  /** Forgets pods that are no longer configured. */
  removeOrphanedStatuses(podUids: ReadonlySet<string>): void;
}

export interface StatusManagerDeps {
  readonly platform: BasePlatform;
  readonly client: Client;
  readonly podManager: PodManagerView;
  /** Upstream: podDeletionSafety.PodCouldHaveRunningContainers. */
  readonly couldHaveRunningContainers: (uid: string) => boolean;
  readonly startSteps: Pick<PodStartSteps, 'statusWritten'>;
}

interface VersionedStatus {
  readonly status: PodStatus;
  readonly version: number;
  readonly podIsFinished: boolean;
  /** When the oldest unwritten change was made, monotonic. */
  readonly sinceMs: number;
}

export function createStatusManager(deps: StatusManagerDeps): StatusManager {
  return new PodStatusManager(deps);
}

class PodStatusManager implements StatusManager {
  readonly #deps: StatusManagerDeps;
  readonly #log: Log;
  readonly #pods: ResourceClient<Pod>;
  readonly #syncDuration: Histogram;
  readonly #podStatuses = new Map<string, VersionedStatus>();
  readonly #written: WrittenPods;
  /** The last compared pair of equal statuses: idle pods are not compared again. */
  readonly #reconciled = new Map<
    string,
    { readonly apiPod: Pod; readonly versioned: VersionedStatus; readonly couldRun: boolean }
  >();
  readonly #syncs: PodStatusSyncs;
  #lifetime: AbortSignal | undefined;

  constructor(deps: StatusManagerDeps) {
    this.#deps = deps;
    this.#written = new WrittenPods(deps.podManager);
    this.#log = deps.platform.log.child('status-manager');
    this.#pods = deps.client.resource(Pods);
    this.#syncs = new PodStatusSyncs({
      log: this.#log,
      sync: (uid) => this.#syncPod(uid),
      failed: (uid, error) => this.#syncFailed(uid, error),
    });
    this.#syncDuration = deps.platform.metrics.histogram({
      name: 'kubelet_pod_status_sync_duration_seconds',
      help: 'Duration in seconds to sync a pod status update. Measures time from detection of a change to pod status until the API is successfully updated for that pod, even if multiple intevening changes to pod status occur.',
    });
  }

  syncAll(): void {
    for (const [uid, versioned] of this.#podStatuses) if (this.#needsSync(uid, versioned)) this.#requestSync(uid);
  }

  start(signal: AbortSignal): void {
    this.#lifetime = signal;
    const cancel = this.#deps.platform.clock.setTicker(SYNC_PERIOD_MS, () => this.syncAll());
    onAbort(signal, cancel);
    this.syncAll();
  }

  getPodStatus(uid: string): PodStatus | undefined {
    return this.#podStatuses.get(this.#deps.podManager.translatePodUid(uid))?.status;
  }

  setPodStatus(pod: Pod, status: PodStatus): void {
    // The status of a terminating pod is written even without a change: its deletion may wait for it.
    this.#updateStatusInternal(pod, status, {
      force: pod.metadata.deletionTimestamp !== undefined,
      podIsFinished: false,
    });
  }

  setContainerReadiness(uid: string, containerId: string, ready: boolean): void {
    this.#changeContainer(uid, containerId, { ready });
  }

  setContainerStartup(uid: string, containerId: string, started: boolean): void {
    this.#changeContainer(uid, containerId, { started });
  }

  terminatePod(pod: Pod): void {
    const status =
      this.#podStatuses.get(podUid(pod))?.status ??
      this.#deps.podManager.getMirrorPodByPod(pod)?.status ??
      pod.status ??
      {};
    this.#updateStatusInternal(pod, finalPodStatus(pod, status), { force: true, podIsFinished: true });
  }

  podChanged(pod: Pod): void {
    const uid = this.#deps.podManager.translatePodUid(podUid(pod));
    const versioned = this.#podStatuses.get(uid);
    if (versioned !== undefined && this.#needsSync(uid, versioned)) this.#requestSync(uid);
  }

  removeOrphanedStatuses(podUids: ReadonlySet<string>): void {
    for (const map of [this.#podStatuses, this.#reconciled])
      for (const uid of [...map.keys()]) if (!podUids.has(uid)) map.delete(uid);
    this.#written.keepOnly(podUids);
  }

  #updateStatusInternal(pod: Pod, newStatus: PodStatus, options: { force: boolean; podIsFinished: boolean }): void {
    const uid = podUid(pod);
    const cached = this.#podStatuses.get(uid);
    const old = cached?.status ?? this.#deps.podManager.getMirrorPodByPod(pod)?.status ?? pod.status ?? {};
    const illegal = checkContainerStateTransition(pod, old, newStatus);
    if (illegal !== undefined) {
      this.#log.error('Status update on pod aborted', { ...podFields(pod), err: new Error(illegal) });
      return;
    }
    const now = formatTime(this.#deps.platform.clock.nowMs());
    const status = {
      ...withTransitionTimes(newStatus, old, now),
      startTime: old.startTime ?? newStatus.startTime ?? now,
    };
    if (cached !== undefined && !options.force && isStatusEqualByKubelet(cached.status, status)) return;
    this.#podStatuses.set(uid, {
      status,
      version: (cached?.version ?? 0) + 1,
      podIsFinished: options.podIsFinished || (cached?.podIsFinished === true && !isStaticPod(pod)),
      sinceMs:
        cached !== undefined && !this.#written.isSent(uid, cached.version)
          ? cached.sinceMs
          : this.#deps.platform.clock.monotonicMs(),
    });
    this.#requestSync(uid);
  }

  #changeContainer(uid: string, containerId: string, change: { ready?: boolean; started?: boolean }): void {
    const pod = this.#deps.podManager.getPodByUid(uid);
    const cached = this.#podStatuses.get(uid);
    if (pod === undefined || cached === undefined) return;
    const status = withContainerChange(pod, cached.status, { containerId, ...change });
    if (status !== undefined) this.#updateStatusInternal(pod, status, { force: false, podIsFinished: false });
  }

  #requestSync(uid: string): void {
    if (this.#lifetime?.aborted === false) this.#syncs.request(uid, this.#lifetime);
  }

  #syncFailed(uid: string, error: unknown): void {
    const pod = this.#deps.podManager.getPodByUid(uid);
    const fields = pod === undefined ? { podUID: uid } : podFields(pod);
    // The next tick retries.
    this.#log.warn('Failed to update status for pod', { ...fields, err: error });
  }

  async #syncPod(uid: string): Promise<void> {
    const versioned = this.#podStatuses.get(uid);
    const apiPod = this.#written.apiPod(uid);
    if (versioned === undefined || apiPod === undefined) return;
    const key = { namespace: podNamespace(apiPod), name: podName(apiPod) };
    const merged = mergePodStatus(apiPod, versioned.status, this.#deps.couldHaveRunningContainers(uid));
    const patch = podStatusPatch(apiPod, merged);
    let written = apiPod;
    if (patch !== undefined) {
      try {
        written = await this.#pods.patch(
          key,
          { type: 'strategic', patch },
          { subresource: 'status', fieldManager: 'kubelet' },
        );
      } catch (error) {
        if (isReason(error, 'NotFound')) return;
        if (!isReason(error, 'Conflict')) throw error;
        // The uid in the patch did not match: the pod was deleted and recreated.
        this.#log.info('Pod was deleted and then recreated, skipping status update', podFields(apiPod));
        this.#forget(uid);
        return;
      }
      this.#written.written(written);
      const { sinceMs } = versioned;
      this.#syncDuration.observe((this.#deps.platform.clock.monotonicMs() - sinceMs) / 1000);
      this.#deps.startSteps.statusWritten(uid, { status: written.status ?? {}, sinceMs });
    }
    this.#written.sent(apiPod, versioned.version);
    if (canBeDeleted(written, versioned)) await this.#deleteFromApi(uid, written);
  }

  async #deleteFromApi(uid: string, pod: Pod): Promise<void> {
    const key = { namespace: podNamespace(pod), name: podName(pod) };
    try {
      await this.#pods.delete(key, { gracePeriodSeconds: 0, preconditions: { uid: podUid(pod) } });
    } catch (error) {
      if (!isReason(error, 'NotFound', 'Conflict')) throw error;
    }
    this.#log.debug('Pod fully terminated and removed from etcd', podFields(pod));
    this.#forget(uid);
  }

  #forget(uid: string): void {
    this.#podStatuses.delete(uid);
    this.#reconciled.delete(uid);
    this.#written.forget(uid);
  }

  /** Whether the status is unsent, the pod can be deleted now, or another client changed the status in the API. */
  #needsSync(uid: string, versioned: VersionedStatus): boolean {
    const apiPod = this.#written.apiPod(uid);
    if (apiPod === undefined) return false;
    if (!this.#written.isSent(uid, versioned.version) || canBeDeleted(apiPod, versioned)) return true;
    const couldRun = this.#deps.couldHaveRunningContainers(uid);
    const compared = this.#reconciled.get(uid);
    // All three are immutable: the comparison holds until one of them is replaced.
    if (compared?.apiPod === apiPod && compared.versioned === versioned && compared.couldRun === couldRun) return false;
    if (!isStatusEqualByKubelet(apiPod.status ?? {}, mergePodStatus(apiPod, versioned.status, couldRun))) return true;
    const shared = { ...versioned, status: withSharedFields(versioned.status, apiPod.status ?? {}) };
    this.#podStatuses.set(uid, shared);
    this.#reconciled.set(uid, { apiPod, versioned: shared, couldRun });
    return false;
  }
}

/** Mirror pods are deleted with their static pod. */
function canBeDeleted(pod: Pod, { podIsFinished }: VersionedStatus): boolean {
  return (
    pod.metadata.deletionTimestamp !== undefined &&
    !isMirrorPod(pod) &&
    isPodPhaseTerminal(pod.status?.phase) &&
    podIsFinished
  );
}
