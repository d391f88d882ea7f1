/**
 * The order in which a kubelet's parts start: volumes, a first check of the runtime, node status, pod statuses, PLEG and runtime
 * events, eviction, main loop, and the pod sources last. Upstream: (*Kubelet).Run and startKubelet.
 */
import { onAbort } from '../../base/abort.ts';
import { KUBERNETES_VERSION } from '../../base/version.ts';
import { background } from '../../platform/unexpected.ts';
import { startApiserverSource } from '../config/apiserver-source.ts';
import { startStaticSources } from '../config/static-sources.ts';
import { exposePodCounts } from '../metrics/pod-counts.ts';
import { isStaticPod, podUid } from '../types/pod-update.ts';
import { startWatchdog } from '../watchdog/watchdog.ts';
import { startReporting } from './node/start-reporting.ts';
import { startRuntime } from './runtime/start-runtime.ts';
import type { KubeletSubjects } from './subjects.ts';

/** Starts everything until the signal aborts; resolves once the main loop runs. */
export async function startKubelet(subjects: KubeletSubjects, signal: AbortSignal): Promise<void> {
  const { context, pods, resources, runtime, node, sync, server } = subjects;
  const { deps, config } = context;
  const { platform, preparePod } = deps;
  const { podConfig } = pods;
  context.log.info('Kubelet version', { kubeletVersion: KUBERNETES_VERSION });
  await platform.files.makeDir(pods.podDirectories.podsDir(), { mode: 0o750 });
  await resources.start((id, cpuset) => runtime.containerRuntime.updateCpuset(id, cpuset), signal);
  exposeCounts(subjects, signal);
  // All sources are registered before any of them sends: a source that is not registered would not be waited for.
  const apiSource = config.hasApiServer ? podConfig.source('api') : undefined;
  const startSources = startStaticSources({ platform, podConfig, preparePod }, config, signal);
  await startVolumesAndPleg(subjects, signal);
  if (config.hasApiServer) startReporting(subjects, signal);
  startRuntime(subjects, signal);
  resources.pluginManager.start(signal);
  node.evictionManager?.start(signal);
  node.shutdownManager?.start(signal);
  sync.syncLoop.start(signal);
  startWatchdog({ platform, healthProblems: () => server.host.healthProblems() }, signal);
  if (apiSource !== undefined) {
    startApiserverSource(pods.nodePods, apiSource, signal);
    measurePodStarts(subjects, signal);
  }
  startSources();
  mirrorStaticPods(subjects);
}

/** The PLEG's first relist fills the pod cache before any pod is synced. */
async function startVolumesAndPleg(
  { context, volumes, runtime, node }: KubeletSubjects,
  signal: AbortSignal,
): Promise<void> {
  const { config, log } = context;
  const { containerRuntime, runtimeMonitor, pleg } = runtime;
  context.nodeInformer.addHandler({
    onAdd: (added) => node.nodeStatus.nodeSeen(added),
    onUpdate: (_before, after) => node.nodeStatus.nodeSeen(after),
    onDelete: () => node.nodeStatus.nodeGone(),
  });
  volumes.volumeManager.start(signal);
  // Without an API server the node's pod CIDR comes from the configuration.
  if (!config.hasApiServer && config.podCidr !== '')
    await containerRuntime
      .updatePodCidr(config.podCidr)
      .catch((error: unknown) => log.error('Failed to update pod CIDR', { cidr: config.podCidr, err: error }));
  pleg.start(signal);
  const status = await runtimeMonitor.check();
  runtime.runtimeName = status?.runtimeName ?? runtime.runtimeName;
  await pleg.relist();
}

/** Syncs static pods when the Node object appears: it is the owner of their mirrors. */
function mirrorStaticPods({ context, pods, node, sync }: KubeletSubjects): void {
  const syncStaticPods = (): void => sync.syncHandler.handlePodSyncs(pods.podManager.getPods().filter(isStaticPod));
  if (context.config.hasApiServer) context.nodeInformer.addHandler({ onAdd: syncStaticPods });
  background(
    context.deps.platform.log,
    'static pods could not be mirrored',
    node.nodeStatus.registered.then(syncStaticPods),
  );
}

/** Measures when clients of the API server can see that pods have started. */
function measurePodStarts({ pods: { nodePods, podStarts } }: KubeletSubjects, signal: AbortSignal): void {
  const removeHandler = nodePods.addHandler({
    onUpdate: (_before, pod) => podStarts.watched(pod),
    onDelete: (pod) => podStarts.forget(podUid(pod)),
  });
  onAbort(signal, removeHandler);
}

function exposeCounts({ context, pods: { podManager }, status }: KubeletSubjects, signal: AbortSignal): void {
  exposePodCounts(
    context.deps.platform.metrics,
    {
      desired: () => podManager.getPods(),
      active: status.getActivePods,
      mirrors: () => podManager.getPodsAndMirrorPods().mirrorPods,
    },
    signal,
  );
  status.podWorkCounts.start(signal);
}
