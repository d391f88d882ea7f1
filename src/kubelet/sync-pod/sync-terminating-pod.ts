/**
 * The last steps of a pod: kills its containers and frees its resources. Upstream: SyncTerminatingPod,
 * SyncTerminatingRuntimePod and SyncTerminatedPod in pkg/kubelet/kubelet.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import { claimNamesOf } from '../../component-helpers/resource-claims.ts';
import { convertPodStatusToRunningPod } from '../container/helpers.ts';
import { killPod } from './kill-pod.ts';
import type { PodSyncer } from '../pod-workers/pod-syncer.ts';
import type { SyncPodDeps } from './sync-pod-deps.ts';
import { podFields, podName, podNamespace, podUid } from '../types/pod-update.ts';

const VOLUME_POLL_MS = 100;

export function createTerminationSyncs(deps: SyncPodDeps): Omit<PodSyncer, 'syncPod'> {
  const { clock } = deps.platform;
  const log = deps.platform.log.child('sync-pod');

  async function waitUntilVolumesGone(pod: Pod, signal: AbortSignal): Promise<void> {
    while (deps.volumes.podHasVolumes(podUid(pod))) await clock.sleep(VOLUME_POLL_MS, signal);
  }

  return {
    async syncTerminatingPod({ pod, podStatus, gracePeriodSeconds, changeStatus, signal }) {
      const change = changeStatus ?? ((status) => status);
      deps.statusManager.setPodStatus(pod, change(deps.generateStatus(pod, podStatus, false)));
      deps.probeManager.stopLivenessAndStartup(pod);
      const release = deps.holdEvents(podUid(pod));
      try {
        await killPod(deps.runtime, {
          pod,
          runtimePod: convertPodStatusToRunningPod(podStatus),
          gracePeriodSeconds,
          signal,
        });
      } catch (error) {
        if (!signal.aborted) {
          const text = errorMessage(error);
          deps.recorder.event(pod, 'Warning', 'FailedKillPod', `error killing pod: ${text}`);
        }
        throw error;
      } finally {
        release();
      }
      deps.probeManager.removePod(pod);
      const actedAt = deps.podCache.now();
      const identity = { uid: podUid(pod), name: podName(pod), namespace: podNamespace(pod) };
      const stopped = await deps.podCache.getNewerThan(identity, actedAt, signal);
      const running = stopped.containers.filter((container) => container.state === 'running');
      if (running.length > 0) {
        const ids = running.map(({ id }) => id).join(' ');
        throw new Error(`detected running containers after a successful KillPod, CRI violation: [${ids}]`);
      }
      if (claimNamesOf(pod).length > 0) await deps.dynamicResources.unprepareDynamicResources(podUid(pod));
      // The final states are recorded now, since containers may be removed before the last step.
      deps.statusManager.setPodStatus(pod, change(deps.generateStatus(pod, stopped, true)));
      log.debug('Pod termination stopped all running containers', podFields(pod));
      return { actedAt };
    },

    async syncTerminatingRuntimePod(runningPod, signal) {
      log.info('Terminating an orphaned pod', {
        pod: `${runningPod.namespace}/${runningPod.name}`,
        podUID: runningPod.uid,
      });
      // The spec is unknown, so the shortest grace period is used.
      await killPod(deps.runtime, { runtimePod: runningPod, gracePeriodSeconds: 1, signal });
    },

    async syncTerminatedPod({ pod, podStatus, signal }) {
      const uid = podUid(pod);
      deps.statusManager.setPodStatus(pod, deps.generateStatus(pod, podStatus, true));
      deps.probeManager.removePod(pod);
      await deps.volumes.waitForUnmount(pod, signal);
      await waitUntilVolumesGone(pod, signal);
      await deps.podContainers.destroyPodCgroup(uid);
      deps.reasonCache.forget(uid);
      deps.statusManager.terminatePod(pod);
      log.debug('Pod is terminated and will need no more status updates', podFields(pod));
    },
  };
}
