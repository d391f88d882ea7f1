/** The start of what follows the runtime: OOM events, the runtime's event stream and garbage collection of containers. */
import { background } from '../../../platform/unexpected.ts';
import { startOomWatcher } from '../../oom/oom-watcher.ts';
import { startEventedPleg } from '../../pleg/evented-pleg.ts';
import { startContainerGc } from '../../runtime/container-gc.ts';
import type { KubeletSubjects } from '../subjects.ts';

export function startRuntime(
  { context, pods, runtime }: Pick<KubeletSubjects, 'context' | 'pods' | 'runtime'>,
  signal: AbortSignal,
): void {
  const { deps, config, nodeRef, log } = context;
  const { platform, recorder } = deps;
  const { containerRuntime, runtimeMonitor, pleg } = runtime;
  runtimeMonitor.start(signal);
  startOomWatcher({ platform, recorder, nodeRef }, signal);
  background(
    platform.log,
    'a part of the kubelet broke off',
    startEventedPleg(
      { platform, runtime: containerRuntime, pleg },
      { healthyRelistPeriodMs: config.plegHealthyRelistPeriodMs, brokenRelistPeriodMs: config.plegRelistPeriodMs },
      signal,
    ),
  );
  startContainerGc(
    { clock: platform.clock, log, recorder, nodeRef, runtime: containerRuntime, sourcesReady: pods.sourcesReady },
    config,
    signal,
  );
}
