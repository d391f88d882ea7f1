/** Reports changed probe results and syncs their pods. Upstream: handleProbeSync in pkg/kubelet/kubelet.go. */
import type { Log } from '../../platform/log.ts';
import type { PodManager } from '../pod/pod-manager.ts';
import type { ProbeUpdate } from '../prober/results.ts';
import type { StatusManager } from '../status/status-manager.ts';
import { podName, podNamespace } from '../types/pod-update.ts';
import type { SyncHandler } from './sync-loop.ts';

export interface ProbeSyncDeps {
  readonly log: Log;
  readonly statusManager: Pick<StatusManager, 'setContainerReadiness' | 'setContainerStartup'>;
  readonly podManager: Pick<PodManager, 'getPodByUid'>;
  readonly handler: Pick<SyncHandler, 'handlePodSyncs'>;
}

/** A liveness probe that succeeds changes nothing; one that fails has the container restarted. */
export function createProbeSyncHandler(deps: ProbeSyncDeps): (update: ProbeUpdate) => void {
  const { statusManager } = deps;
  return ({ type, podUid: uid, containerId, result }) => {
    if (type === 'readiness') statusManager.setContainerReadiness(uid, containerId, result === 'success');
    if (type === 'startup') statusManager.setContainerStartup(uid, containerId, result === 'success');
    if (type === 'liveness' && result !== 'failure') return;
    const pod = deps.podManager.getPodByUid(uid);
    if (pod === undefined) return;
    const name = `${podNamespace(pod)}/${podName(pod)}`;
    deps.log.debug('SyncLoop (probe)', { probe: type, status: result, pod: name });
    deps.handler.handlePodSyncs([pod]);
  };
}
