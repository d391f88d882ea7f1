/** The kubelet as its HTTP server sees it. Upstream: HostInterface as *Kubelet fulfils it. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { KubeletHost } from '../server/host.ts';
import { podUid } from '../types/pod-update.ts';
import type { Foundations } from './foundations.ts';
import type { LoopSide } from './loop-side.ts';
import type { NodeSide } from './node-side.ts';

/** Makes the view. Pods are as the API should show them: with the newest status. */
export function createHost(stages: { foundations: Foundations; nodeSide: NodeSide; loopSide: LoopSide }): KubeletHost {
  const { config, podManager, podCache } = stages.foundations;
  const withStatus = (pod: Pod): Pod => {
    const status = stages.nodeSide.statusManager.getPodStatus(podUid(pod));
    return status === undefined ? pod : { ...pod, status };
  };
  return {
    nodeName: config.nodeName,
    pods: () => podManager.getPods().map(withStatus),
    podByName: (namespace, name) => podManager.getPodByName(namespace, name),
    podByUid: (uid) => podManager.getPodByUid(podManager.translatePodUid(uid)),
    podStatus: (uid) => podCache.peek(podManager.translatePodUid(uid)),
    healthProblems: () => healthProblems(stages.loopSide),
    configz: () => ({ kubeletconfig: config.published?.() ?? {} }),
  };
}

/** Why the kubelet is not healthy; empty when it is. */
export function healthProblems({ syncLoop, pleg, fileWork }: LoopSide): readonly string[] {
  return [syncLoop.healthProblem(), pleg.healthProblem(), fileWork.problem()].filter(
    (problem) => problem !== undefined,
  );
}
