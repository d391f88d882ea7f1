/**
 * The kubelet, put together: construct (no I/O, no timers) → start → stop. Upstream: NewMainKubelet, startKubelet and Run
 * in cmd/kubelet and pkg/kubelet/kubelet.go.
 *
 * The stages are in composition/; each is made from those before it, and what an earlier one calls of a later one is
 * listed in its late bindings. Stopping leaves the containers as they are; the next start finds them by its first relist,
 * restarts none, and kills nothing unknown before every pod source has been heard.
 */
import { onAbort } from '../base/abort.ts';
import { createFoundations } from './composition/foundations.ts';
import { createHost } from './composition/host.ts';
import { createLoopSide } from './composition/loop-side.ts';
import { createNodeSide } from './composition/node-side.ts';
import { createPodSide } from './composition/pod-side.ts';
import { startKubelet } from './composition/start-order.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import type { Kubelet, KubeletDeps } from './kubelet-contract.ts';

/** Puts a kubelet together. */
export function createKubelet(deps: KubeletDeps, config: KubeletConfiguration): Kubelet {
  const foundations = createFoundations(deps, config);
  const nodeSide = createNodeSide(foundations);
  const podSide = createPodSide(foundations, nodeSide);
  const loopSide = createLoopSide({ foundations, nodeSide, podSide });
  const lifetime = new AbortController();
  return {
    host: createHost({ foundations, nodeSide, loopSide }),
    core: foundations.core,
    runtime: foundations.runtime,
    volumes: foundations.volumes,
    registered: nodeSide.nodeStatus.registered,
    start(signal) {
      if (signal.aborted) lifetime.abort(signal.reason);
      else onAbort(signal, () => lifetime.abort(signal.reason));
      return startKubelet({ foundations, nodeSide, podSide, loopSide }, lifetime.signal);
    },
    async stop() {
      lifetime.abort(new Error('the kubelet is stopping'));
      nodeSide.probeManager.stop();
      await podSide.podWorkers.stop();
    },
  };
}
