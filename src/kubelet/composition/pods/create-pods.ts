/** Creates the pods' subject: what should run, the sources of pods, and a worker for each. */
import { nodePodInformer } from '../../config/apiserver-source.ts';
import { createPodConfig } from '../../config/pod-config.ts';
import { createSourcesReady } from '../../config/sources-ready.ts';
import { createPodCache } from '../../container/pod-cache.ts';
import { createPodStarts } from '../../metrics/pod-starts.ts';
import { createActivityRecorder } from '../../pod/activity-recorder.ts';
import { createPodDirectories } from '../../pod/pod-directories.ts';
import { createPodManager } from '../../pod/pod-manager.ts';
import { createPodStartSteps } from '../../pod/start-steps.ts';
import { createPodWorkers } from '../../pod-workers/pod-workers.ts';
import { createWorkQueue } from '../../pod-workers/work-queue.ts';
import { createResultsManager } from '../../prober/results-manager.ts';
import { SyncLoopChannels } from '../../sync-loop/channels.ts';
import type { KubeletContext } from '../context.ts';
import { latePodSyncer } from '../late-bindings.ts';
import type { KubeletPods } from './types.ts';

export function createKubeletPods({ deps, config, log, late }: KubeletContext): KubeletPods {
  const { platform, recorder } = deps;
  const channels = new SyncLoopChannels();
  const podConfig = createPodConfig(channels.configCh);
  const probeResults = createResultsManager(log);
  probeResults.onUpdate(channels.probeCh);
  const podCache = createPodCache();
  const workQueue = createWorkQueue(platform.clock, channels.syncCh);
  const activity = createActivityRecorder(platform.clock);
  return {
    channels,
    podManager: createPodManager(),
    podConfig,
    sourcesReady: createSourcesReady(podConfig.sources),
    nodePods: nodePodInformer(deps.informers, config.nodeName),
    podCache,
    workQueue,
    podWorkers: createPodWorkers(
      { platform, recorder, podSyncer: latePodSyncer(late), podCache, workQueue, activity },
      { resyncIntervalMs: config.syncFrequencyMs, backOffPeriodMs: config.podBackOffPeriodMs },
    ),
    podDirectories: createPodDirectories(platform.files, config.rootDirectory),
    podStarts: createPodStarts(platform),
    startSteps: createPodStartSteps(platform.clock, deps.tracer),
    activity,
    probeResults,
    admitting: new Set<string>(),
  };
}
