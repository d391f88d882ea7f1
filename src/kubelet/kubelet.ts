/**
 * Composes the kubelet: construct (no I/O, no timers), start, stop. Upstream: NewMainKubelet, startKubelet and Run in
 * cmd/kubelet and pkg/kubelet/kubelet.go.
 *
 * Each subject has a folder in composition/ with a types.ts that states its dependencies and results; the two
 * circular dependencies are in late-bindings.ts. Stopping leaves the containers running: the next start finds them by
 * its first relist, restarts none, and kills no unknown pod before every pod source has sent its pods.
 */
import { onAbort } from '../base/abort.ts';
import { createKubeletContext } from './composition/context.ts';
import { createKubeletCore } from './composition/kubelet-core.ts';
import { createKubeletNode } from './composition/node/create-node.ts';
import { createKubeletPods } from './composition/pods/create-pods.ts';
import { createKubeletResources } from './composition/resources/create-resources.ts';
import { createKubeletRuntime } from './composition/runtime/create-runtime.ts';
import { createKubeletServer } from './composition/server/create-server.ts';
import { startKubelet } from './composition/start-kubelet.ts';
import { createKubeletStatus } from './composition/status/create-status.ts';
import type { KubeletSubjects } from './composition/subjects.ts';
import { createKubeletSync } from './composition/sync/create-sync.ts';
import { createKubeletVolumes } from './composition/volumes/create-volumes.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import type { Kubelet, KubeletDeps } from './kubelet-contract.ts';

export function createKubelet(deps: KubeletDeps, config: KubeletConfiguration): Kubelet {
  const subjects = createSubjects(deps, config);
  const { core, runtime, volumes, node, server, status, pods } = subjects;
  const lifetime = new AbortController();
  return {
    host: server.host,
    core,
    runtime: runtime.containerRuntime,
    volumes: volumes.volumeManager,
    registered: node.nodeStatus.registered,
    start(signal) {
      if (signal.aborted) lifetime.abort(signal.reason);
      else onAbort(signal, () => lifetime.abort(signal.reason));
      return startKubelet(subjects, lifetime.signal);
    },
    async stop() {
      lifetime.abort(new Error('the kubelet is stopping'));
      status.probeManager.stop();
      await pods.podWorkers.stop();
    },
  };
}

function createSubjects(deps: KubeletDeps, config: KubeletConfiguration): KubeletSubjects {
  const context = createKubeletContext(deps, config);
  const pods = createKubeletPods(context);
  const resources = createKubeletResources({ context, pods });
  const core = createKubeletCore(context, pods, resources);
  const volumes = createKubeletVolumes({ context, core });
  const runtime = createKubeletRuntime({ context, pods, core, volumes });
  const status = createKubeletStatus({ context, pods, resources, runtime });
  const node = createKubeletNode({ context, pods, resources, volumes, runtime, status });
  const sync = createKubeletSync({ context, pods, resources, volumes, runtime, status, node });
  const server = createKubeletServer({ context, pods, volumes, runtime, status, sync });
  return { context, pods, resources, core, volumes, runtime, status, node, sync, server };
}
