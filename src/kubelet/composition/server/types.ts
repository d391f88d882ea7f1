/**
 * Server: the parts that the kubelet's HTTP server and systemd's watchdog use. Needs the context, the pods, the
 * volumes, the status, the runtime and the sync loop.
 */
import type { KubeletHost } from '../../server/host.ts';
import type { KubeletContext } from '../context.ts';
import type { KubeletPods } from '../pods/types.ts';
import type { KubeletRuntime } from '../runtime/types.ts';
import type { KubeletStatus } from '../status/types.ts';
import type { KubeletSync } from '../sync/types.ts';
import type { KubeletVolumes } from '../volumes/types.ts';

export interface KubeletServerDeps {
  readonly context: KubeletContext;
  readonly pods: KubeletPods;
  readonly volumes: KubeletVolumes;
  readonly runtime: KubeletRuntime;
  readonly status: KubeletStatus;
  readonly sync: KubeletSync;
}

export interface KubeletServer {
  /** Upstream: HostInterface as *Kubelet fulfils it. */
  readonly host: KubeletHost;
}
