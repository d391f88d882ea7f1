/**
 * Prepares a pod before its containers start: network, cgroup, mirror pod, directories, volumes and claimed devices,
 * in this order. Upstream: the first half of (*Kubelet).SyncPod in pkg/kubelet/kubelet.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import { convertPodStatusToRunningPod } from '../container/helpers.ts';
import type { PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import { NETWORK_NOT_READY_MESSAGE } from '../pod-workers/requeue-delay.ts';
import { sandboxChanged } from '../runtime/compute-pod-actions.ts';
import { isHostNetworkPod, podFields, podUid } from '../types/pod-update.ts';
import { killPod } from './kill-pod.ts';
import type { SyncPodDeps } from './sync-pod-deps.ts';

export interface PodPreparation {
  /** Rejects with the first failure, which is recorded in an event. */
  prepare(request: {
    readonly pod: Pod;
    readonly mirrorPod: Pod | undefined;
    readonly podStatus: RuntimePodStatus;
    readonly trace: StepScope;
    readonly signal: AbortSignal;
  }): Promise<void>;
}

export function createPodPreparation(deps: SyncPodDeps): PodPreparation {
  const log = deps.platform.log.child('sync-pod');

  function checkNetwork(pod: Pod): void {
    const problems = deps.runtimeState.networkErrors();
    if (problems.length === 0 || isHostNetworkPod(pod)) return;
    const message = `${NETWORK_NOT_READY_MESSAGE}: ${problems.join(', ')}`;
    deps.recorder.event(pod, 'Warning', 'NetworkNotReady', message);
    throw new Error(message);
  }

  /**
   * Creates the pod's cgroup. A running pod without its cgroup is killed first, so that its containers start again
   * within the limits.
   */
  async function ensureCgroup(pod: Pod, podStatus: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    if (deps.isPodTerminationRequested(podUid(pod)) || (await deps.podContainers.podCgroupExists(pod))) return;
    if (podStatus.containers.some((container) => container.state === 'running')) {
      try {
        await killPod(deps.runtime, { pod, runtimePod: convertPodStatusToRunningPod(podStatus), signal });
        if (pod.spec?.restartPolicy === 'Never') return;
      } catch (error) {
        log.error('KillPod failed', { ...podFields(pod), err: error });
      }
    }
    try {
      await deps.podContainers.ensurePodCgroup(pod);
    } catch (error) {
      deps.recorder.event(
        pod,
        'Warning',
        'FailedCreatePodContainer',
        `unable to ensure pod container exists: ${errorMessage(error)}`,
      );
      throw new Error(
        `failed to ensure that the pod: ${podUid(pod)} cgroups exist and are correctly applied: ${errorMessage(error)}`,
        { cause: error },
      );
    }
  }

  async function makeDirectories(pod: Pod): Promise<void> {
    try {
      await deps.directories.makePodDataDirs(podUid(pod));
    } catch (error) {
      deps.recorder.event(pod, 'Warning', 'Failed', `error making pod data directories: ${errorMessage(error)}`);
      throw error;
    }
  }

  async function waitForVolumes(pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      await deps.volumes.waitForAttachAndMount(pod, signal);
    } catch (error) {
      if (!signal.aborted) {
        const text = errorMessage(error);
        const message = text.startsWith('Unable to') ? text : `Unable to attach or mount volumes: ${text}`;
        deps.recorder.event(pod, 'Warning', 'FailedMount', message);
      }
      throw error;
    }
  }

  async function prepareResources(pod: Pod): Promise<void> {
    try {
      await deps.dynamicResources.prepareDynamicResources(pod);
    } catch (error) {
      const message = `Failed to prepare dynamic resources: ${errorMessage(error)}`;
      deps.recorder.event(pod, 'Warning', 'FailedPrepareDynamicResources', message);
      throw error;
    }
  }

  return {
    async prepare({ pod, mirrorPod, podStatus, trace, signal }) {
      checkNetwork(pod);
      await trace.step('cgroup', () => ensureCgroup(pod, podStatus, signal));
      await deps.reconcileMirrorPod(pod, mirrorPod);
      await trace.step('directories', () => makeDirectories(pod));
      await trace.step('volumes', () => waitForVolumes(pod, signal));
      // A pod with a sandbox needs no driver: a driver that is gone must not prevent restarts of its containers.
      if (sandboxChanged(pod, podStatus).changed) await trace.step('claimed devices', () => prepareResources(pod));
    },
  };
}
