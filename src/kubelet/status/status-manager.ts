/**
 * Holds the newest status of every pod and brings it to the API server. Upstream: pkg/kubelet/status/status_manager.go.
 *
 * Invariants: a status is versioned, and what was sent last is remembered, so no change is lost and none is sent twice; at
 * most one write per pod is under way, a change during it causes one more; a write carries only what changed. A pod that
 * is being deleted leaves the API (grace 0, with its uid as precondition) once its phase is terminal and everything of it
 * is cleaned up. Upstream sends in batches and looks for work every 10 s; here each change is sent in the turn it is
 * made, and the tick only retries and reconciles.
 */
import { onAbort } from '../../base/abort.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Pod, PodCondition, PodStatus } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { PodManagerView } from '../pod/pod-manager.ts';
import { isMirrorPod, isStaticPod, podFields, podName, podNamespace, podUid } from '../types/pod-update.ts';
import { containersReadyCondition, podReadyCondition } from './conditions.ts';
import { finalPodStatus } from './final-status.ts';
import { checkContainerStateTransition, isStatusEqualByKubelet, mergePodStatus, withTransitionTimes } from './merge.ts';
import { podStatusPatch } from './status-patch.ts';
import { background } from '../../platform/unexpected.ts';

const SYNC_PERIOD_MS = 10_000;

export interface StatusManager {
  /** Begins to write (and retries every 10 s) until the signal aborts. */
  start(signal: AbortSignal): void;
  /** Newest status, sent or not. */
  getPodStatus(uid: string): PodStatus | undefined;
  setPodStatus(pod: Pod, status: PodStatus): void;
  /** Takes a readiness probe's result over into status and conditions at once. `containerId` is bare. */
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void;
  setContainerStartup(uid: string, containerId: string, started: boolean): void;
  /** Everything of the pod is cleaned up: fixes its final status, after which it may leave the API. */
  terminatePod(pod: Pod): void;
  /** The configuration shows a new version of the pod: writes or deletes if that calls for it. */
  podChanged(pod: Pod): void;
  /** Looks at all statuses now: the state of pods known to run or not has changed as a whole. */
  syncAll(): void;
  /** Forgets pods that are no longer configured. */
  removeOrphanedStatuses(known: ReadonlySet<string>): void;
}

export interface StatusManagerDeps {
  readonly platform: BasePlatform;
  readonly client: Client;
  readonly podManager: PodManagerView;
  /** Upstream: podDeletionSafety.PodCouldHaveRunningContainers. */
  readonly couldHaveRunningContainers: (uid: string) => boolean;
}

interface VersionedStatus {
  readonly status: PodStatus;
  readonly version: number;
  readonly podIsFinished: boolean;
  /** When the first change not yet sent was made. */
  readonly sinceMs: number;
}

export function createStatusManager(deps: StatusManagerDeps): StatusManager {
  const { clock } = deps.platform;
  const log = deps.platform.log.child('status-manager');
  const pods = deps.client.resource(Pods);
  const syncDuration = deps.platform.metrics.histogram({
    name: 'kubelet_pod_status_sync_duration_seconds',
    help: 'Duration in seconds to sync a pod status update. Measures time from detection of a change to pod status until the API is successfully updated for that pod, even if multiple intevening changes to pod status occur.',
  });
  const podStatuses = new Map<string, VersionedStatus>();
  /** Version last sent, by the API's uid. */
  const apiStatusVersions = new Map<string, number>();
  /** What the API answered to the last write: newer than the informer's copy for a moment. */
  const lastWritten = new Map<string, Pod>();
  /** Of statuses found equal to the API's: what was compared, so that pods at rest cost nothing. */
  const inStep = new Map<
    string,
    { readonly apiPod: Pod; readonly versioned: VersionedStatus; readonly couldRun: boolean }
  >();
  const syncing = new Map<string, { again: boolean }>();
  let running: AbortSignal | undefined;

  // ---- changes --------------------------------------------------------------------------------------------------

  function updateStatusInternal(pod: Pod, given: PodStatus, options: { force: boolean; podIsFinished: boolean }): void {
    const uid = podUid(pod);
    const cached = podStatuses.get(uid);
    const old = cached?.status ?? deps.podManager.getMirrorPodByPod(pod)?.status ?? pod.status ?? {};
    const illegal = checkContainerStateTransition(pod, old, given);
    if (illegal !== undefined) {
      log.error('Status update on pod aborted', { ...podFields(pod), err: new Error(illegal) });
      return;
    }
    const now = formatTime(clock.nowMs());
    const status = { ...withTransitionTimes(given, old, now), startTime: old.startTime ?? given.startTime ?? now };
    if (cached !== undefined && !options.force && isStatusEqualByKubelet(cached.status, status)) return;
    podStatuses.set(uid, {
      status,
      version: (cached?.version ?? 0) + 1,
      podIsFinished: options.podIsFinished || (cached?.podIsFinished === true && !isStaticPod(pod)),
      sinceMs: cached !== undefined && !isSent(uid, cached) ? cached.sinceMs : clock.monotonicMs(),
    });
    requestSync(uid);
  }

  function changeContainer(uid: string, containerId: string, change: { ready?: boolean; started?: boolean }): void {
    const pod = deps.podManager.getPodByUid(uid);
    const cached = podStatuses.get(uid);
    if (pod === undefined || cached === undefined) return;
    let found = false;
    const apply = (list: PodStatus['containerStatuses']): PodStatus['containerStatuses'] =>
      list?.map((container) => {
        if (container.containerID?.endsWith(`//${containerId}`) !== true) return container;
        if (
          (change.ready ?? container.ready) === container.ready &&
          (change.started ?? container.started) === container.started
        )
          return container;
        found = true;
        return { ...container, ...change };
      });
    const containerStatuses = apply(cached.status.containerStatuses);
    const initContainerStatuses = apply(cached.status.initContainerStatuses);
    if (!found) return;
    const status: PodStatus = {
      ...cached.status,
      ...(containerStatuses === undefined ? {} : { containerStatuses }),
      ...(initContainerStatuses === undefined ? {} : { initContainerStatuses }),
    };
    updateStatusInternal(pod, change.ready === undefined ? status : withReadiness(pod, status), {
      force: false,
      podIsFinished: false,
    });
  }

  function withReadiness(pod: Pod, status: PodStatus): PodStatus {
    const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    const input = { pod, statuses, phase: status.phase ?? 'Pending' };
    const fresh = [podReadyCondition(input, status.conditions ?? []), containersReadyCondition(input)];
    const conditions = (status.conditions ?? []).map(
      (condition): PodCondition => fresh.find(({ type }) => type === condition.type) ?? condition,
    );
    return { ...status, conditions };
  }

  // ---- writes ---------------------------------------------------------------------------------------------------

  function requestSync(uid: string): void {
    if (running === undefined || running.aborted) return;
    const under = syncing.get(uid);
    if (under !== undefined) {
      under.again = true;
      return;
    }
    background(log, 'a pod status could not be written', syncUntilDone(uid));
  }

  async function syncUntilDone(uid: string): Promise<void> {
    const under = { again: false };
    syncing.set(uid, under);
    do {
      under.again = false;
      try {
        await syncPod(uid);
      } catch (error) {
        // The next tick tries again.
        const pod = deps.podManager.getPodByUid(uid);
        log.warn('Failed to update status for pod', {
          ...(pod === undefined ? { podUID: uid } : podFields(pod)),
          err: error,
        });
      }
    } while (under.again && running?.aborted === false);
    syncing.delete(uid);
  }

  /** The API's object the status belongs to, as new as is known here. */
  function apiPodOf(uid: string): Pod | undefined {
    let pod = deps.podManager.getPodByUid(uid);
    if (pod !== undefined && isStaticPod(pod)) pod = deps.podManager.getMirrorPodByPod(pod);
    if (pod === undefined) return undefined;
    const written = lastWritten.get(podUid(pod));
    if (written === undefined || revisionOf(written) > revisionOf(pod)) return written ?? pod;
    lastWritten.delete(podUid(pod));
    return pod;
  }

  async function syncPod(uid: string): Promise<void> {
    const versioned = podStatuses.get(uid);
    const apiPod = apiPodOf(uid);
    if (versioned === undefined || apiPod === undefined) return;
    const key = { namespace: podNamespace(apiPod), name: podName(apiPod) };
    const merged = mergePodStatus(apiPod, versioned.status, deps.couldHaveRunningContainers(uid));
    const patch = podStatusPatch(apiPod, merged);
    let written = apiPod;
    if (patch !== undefined) {
      try {
        written = await pods.patch(
          key,
          { type: 'strategic', patch },
          { subresource: 'status', fieldManager: 'kubelet' },
        );
      } catch (error) {
        if (isReason(error, 'NotFound')) return;
        if (!isReason(error, 'Conflict')) throw error;
        // The uid in the patch did not match: the pod was deleted and created anew.
        log.info('Pod was deleted and then recreated, skipping status update', podFields(apiPod));
        forget(uid);
        return;
      }
      lastWritten.set(podUid(written), written);
      syncDuration.observe((clock.monotonicMs() - versioned.sinceMs) / 1000);
    }
    apiStatusVersions.set(podUid(apiPod), versioned.version);
    if (canBeDeleted(written, versioned)) await deleteFromApi(uid, written);
  }

  function canBeDeleted(pod: Pod, versioned: VersionedStatus): boolean {
    if (pod.metadata.deletionTimestamp === undefined || isMirrorPod(pod)) return false;
    return isPodPhaseTerminal(pod.status?.phase) && versioned.podIsFinished;
  }

  async function deleteFromApi(uid: string, pod: Pod): Promise<void> {
    const key = { namespace: podNamespace(pod), name: podName(pod) };
    try {
      await pods.delete(key, { gracePeriodSeconds: 0, preconditions: { uid: podUid(pod) } });
    } catch (error) {
      if (!isReason(error, 'NotFound', 'Conflict')) throw error;
    }
    log.debug('Pod fully terminated and removed from etcd', podFields(pod));
    forget(uid);
  }

  function forget(uid: string): void {
    podStatuses.delete(uid);
    inStep.delete(uid);
    const apiUid = podUid(apiPodOf(uid) ?? { metadata: { uid } });
    lastWritten.delete(apiUid);
    apiStatusVersions.delete(apiUid);
  }

  function isSent(uid: string, versioned: VersionedStatus): boolean {
    const apiPod = apiPodOf(uid);
    return apiPod !== undefined && apiStatusVersions.get(podUid(apiPod)) === versioned.version;
  }

  /** Unsent, deletable now, or changed in the API by someone else. */
  function needsSync(uid: string, versioned: VersionedStatus): boolean {
    const apiPod = apiPodOf(uid);
    if (apiPod === undefined) return false;
    if (!isSent(uid, versioned) || canBeDeleted(apiPod, versioned)) return true;
    const couldRun = deps.couldHaveRunningContainers(uid);
    const judged = inStep.get(uid);
    // All of these are immutable: what was in step stays so until one of them is another.
    if (judged?.apiPod === apiPod && judged.versioned === versioned && judged.couldRun === couldRun) return false;
    if (!isStatusEqualByKubelet(apiPod.status ?? {}, mergePodStatus(apiPod, versioned.status, couldRun))) return true;
    const shared = { ...versioned, status: withSharedFields(versioned.status, apiPod.status ?? {}) };
    podStatuses.set(uid, shared);
    inStep.set(uid, { apiPod, versioned: shared, couldRun });
    return false;
  }

  function syncBatch(): void {
    for (const [uid, versioned] of podStatuses) if (needsSync(uid, versioned)) requestSync(uid);
  }

  return {
    start(signal) {
      running = signal;
      const cancel = clock.setTicker(SYNC_PERIOD_MS, syncBatch);
      onAbort(signal, cancel);
      syncBatch();
    },
    getPodStatus: (uid) => podStatuses.get(deps.podManager.translatePodUid(uid))?.status,
    setPodStatus(pod, status) {
      // A pod being deleted is written even without a change: the deletion may wait for it.
      updateStatusInternal(pod, status, { force: pod.metadata.deletionTimestamp !== undefined, podIsFinished: false });
    },
    setContainerReadiness: (uid, containerId, ready) => changeContainer(uid, containerId, { ready }),
    setContainerStartup: (uid, containerId, started) => changeContainer(uid, containerId, { started }),
    terminatePod(pod) {
      const status =
        podStatuses.get(podUid(pod))?.status ?? deps.podManager.getMirrorPodByPod(pod)?.status ?? pod.status ?? {};
      updateStatusInternal(pod, finalPodStatus(pod, status), { force: true, podIsFinished: true });
    },
    podChanged(pod) {
      const uid = deps.podManager.translatePodUid(podUid(pod));
      const versioned = podStatuses.get(uid);
      if (versioned !== undefined && needsSync(uid, versioned)) requestSync(uid);
    },
    syncAll: syncBatch,
    removeOrphanedStatuses(known) {
      for (const map of [podStatuses, inStep]) for (const uid of [...map.keys()]) if (!known.has(uid)) map.delete(uid);
      for (const map of [lastWritten, apiStatusVersions])
        for (const uid of [...map.keys()]) if (!known.has(uid)) map.delete(uid);
    },
  };
}

/** The same status, with the other's fields in place of equal ones: each pod's is held as long as the pod is. */
function withSharedFields(status: PodStatus, other: PodStatus): PodStatus {
  const theirs: Readonly<Record<string, unknown>> = { ...other };
  const shared = Object.entries(status).map(([name, value]) => [
    name,
    deepEqual(value, theirs[name]) ? theirs[name] : value,
  ]);
  return Object.fromEntries(shared) as PodStatus;
}

function revisionOf(pod: Pod): number {
  return Number(pod.metadata.resourceVersion ?? 0);
}
