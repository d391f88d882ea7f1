/** Creates the host that the kubelet's HTTP server reads from. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { podNodeState } from '../../pod/node-state.ts';
import { podUid } from '../../types/pod-update.ts';
import { createFileWorkCheck } from '../../watchdog/file-work-check.ts';
import type { KubeletServer, KubeletServerDeps } from './types.ts';

export function createKubeletServer({
  context,
  pods,
  volumes,
  runtime,
  status,
  sync,
}: KubeletServerDeps): KubeletServer {
  const { deps, config } = context;
  const { podManager, podCache } = pods;
  const fileWork = createFileWorkCheck(deps.platform, config.rootDirectory);
  const withCurrentStatus = (pod: Pod): Pod => {
    const current = status.statusManager.getPodStatus(podUid(pod));
    return current === undefined ? pod : { ...pod, status: current };
  };
  return {
    host: {
      nodeName: config.nodeName,
      pods: () => podManager.getPods().map(withCurrentStatus),
      podByName: (namespace, name) => podManager.getPodByName(namespace, name),
      podByUid: (uid) => podManager.getPodByUid(podManager.translatePodUid(uid)),
      podStatus: (uid) => podCache.peek(podManager.translatePodUid(uid)),
      stepsOf: pods.startSteps.stepsOf,
      stateOf(namespace, name) {
        const pod = podManager.getPodByName(namespace, name);
        if (pod === undefined) return undefined;
        const uid = podUid(pod);
        const sources = {
          runtime: runtime.containerRuntime,
          probes: status.probeManager,
          volumes: volumes.volumeManager,
        };
        return podNodeState(sources, uid, { status: podCache.peek(uid), nowMs: deps.platform.clock.nowMs() });
      },
      activityOf(namespace, name) {
        const pod = podManager.getPodByName(namespace, name);
        return pod === undefined ? undefined : pods.activity.activityOf(podUid(pod));
      },
      healthProblems: () =>
        [sync.syncLoop.healthProblem(), runtime.pleg.healthProblem(), fileWork.problem()].filter(
          (problem) => problem !== undefined,
        ),
      configz: () => ({ kubeletconfig: config.published?.() ?? {} }),
    },
  };
}
