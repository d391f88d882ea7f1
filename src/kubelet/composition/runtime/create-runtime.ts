/** Creates the runtime's subject: the container runtime, its health, and the PLEG. */
import { createRuntimeMonitor } from '../../node-status/runtime-monitor.ts';
import { createRuntimeState } from '../../node-status/runtime-state.ts';
import { createGenericPleg } from '../../pleg/generic-pleg.ts';
import { createReasonCache } from '../../status/reason-cache.ts';
import { podName, podNamespace } from '../../types/pod-update.ts';
import type { KubeletRuntime, KubeletRuntimeDeps } from './types.ts';

export function createKubeletRuntime({ context, pods, core, volumes }: KubeletRuntimeDeps): KubeletRuntime {
  const { deps, config, log } = context;
  const { platform } = deps;
  const containerRuntime = deps.runtime(core, volumes.volumeManager);
  const runtimeState = createRuntimeState(platform.clock);
  const pleg = createGenericPleg(
    {
      platform,
      runtime: containerRuntime,
      podCache: pods.podCache,
      plegCh: pods.channels.plegCh,
      identityOf: (uid) => {
        const pod = pods.podManager.getPodByUid(uid);
        return pod === undefined ? undefined : { uid, name: podName(pod), namespace: podNamespace(pod) };
      },
    },
    { relistPeriodMs: config.plegRelistPeriodMs },
  );
  runtimeState.addHealthCheck('PLEG', () => pleg.healthProblem());
  const runtimeMonitor = createRuntimeMonitor({
    clock: platform.clock,
    log,
    runtime: containerRuntime,
    state: runtimeState,
  });
  return {
    containerRuntime,
    runtimeName: 'containerd',
    runtimeState,
    runtimeMonitor,
    pleg,
    reasonCache: createReasonCache(),
  };
}
