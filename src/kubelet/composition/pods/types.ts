/**
 * Pods: the desired pods, their sources, their observed state, and the pod workers. Needs only the context. The
 * workers sync pods through the late `podSyncer`.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Informer } from '../../../client/informer.ts';
import type { PodConfig } from '../../config/pod-config.ts';
import type { SourcesReady } from '../../config/sources-ready.ts';
import type { PodCache } from '../../container/pod-cache.ts';
import type { PodStarts } from '../../metrics/pod-starts.ts';
import type { ActivityRecorder } from '../../pod/activity-recorder.ts';
import type { PodDirectories } from '../../pod/pod-directories.ts';
import type { PodManager } from '../../pod/pod-manager.ts';
import type { PodStartSteps } from '../../pod/start-steps.ts';
import type { PodWorkers } from '../../pod-workers/pod-syncer.ts';
import type { WorkQueue } from '../../pod-workers/work-queue.ts';
import type { ResultsManager } from '../../prober/results-manager.ts';
import type { SyncLoopChannels } from '../../sync-loop/channels.ts';

export interface KubeletPods {
  /** The pods that should run here. */
  readonly podManager: PodManager;
  /** Merges the pod sources into updates on `channels.configCh`. */
  readonly podConfig: PodConfig;
  readonly sourcesReady: SourcesReady;
  /** The pods that the API server has bound to this node. */
  readonly nodePods: Informer<Pod>;
  readonly channels: SyncLoopChannels;
  /** The runtime's last observation of each pod; the PLEG writes it. */
  readonly podCache: PodCache;
  readonly workQueue: WorkQueue;
  readonly podWorkers: PodWorkers;
  readonly podDirectories: PodDirectories;
  readonly podStarts: PodStarts;
  readonly startSteps: PodStartSteps;
  /** Records the kubelet's work for pods that are being observed. */
  readonly activity: ActivityRecorder;
  readonly probeResults: ResultsManager;
  /** Uids of pods under admission. The sync handlers write it. */
  readonly admitting: Set<string>;
}
