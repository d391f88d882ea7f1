/** Removes exited containers and sandboxes periodically. Upstream: StartGarbageCollection in pkg/kubelet/kubelet.go. */
import { onAbort } from '../../base/abort.ts';
import { errorMessage } from '../../base/errors.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { SourcesReady } from '../config/sources-ready.ts';
import type { ContainerRuntime } from '../container/runtime.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';

export interface ContainerGcDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: KubeletEventRecorder;
  readonly nodeRef: EventTarget;
  readonly runtime: Pick<ContainerRuntime, 'garbageCollect'>;
  readonly sourcesReady: SourcesReady;
}

type ContainerGcConfig = Pick<
  KubeletConfiguration,
  'minimumGcAgeMs' | 'maxPerPodContainerCount' | 'maxContainerCount' | 'containerGcPeriodMs'
>;

export function startContainerGc(deps: ContainerGcDeps, config: ContainerGcConfig, signal: AbortSignal): void {
  const policy = {
    minAgeMs: config.minimumGcAgeMs,
    maxPerPodContainer: config.maxPerPodContainerCount,
    maxContainers: config.maxContainerCount,
  };
  const cancel = deps.clock.setTicker(config.containerGcPeriodMs, () => {
    deps.runtime
      .garbageCollect(policy, { allSourcesReady: deps.sourcesReady.allReady(), evictNonDeleted: false })
      .catch((error: unknown) => {
        deps.log.error('Container garbage collection failed', { err: error });
        deps.recorder.event(deps.nodeRef, 'Warning', 'ContainerGCFailed', errorMessage(error));
      });
  });
  onAbort(signal, cancel);
}
