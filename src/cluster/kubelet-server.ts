/** Opens the HTTPS server of one node's kubelet: logs, exec, statistics, health. */
import type { Client } from '../client/client.ts';
import type { CriRuntime } from '../cri/runtime-service.ts';
import { createDelegatedAuth } from '../kubelet/server/delegated-auth.ts';
import { createKubeletServer } from '../kubelet/server/kubelet-server.ts';
import { createStatsProvider } from '../kubelet/stats/create-stats-provider.ts';
import type { HttpServer, ListenOptions } from '../platform/http.ts';
import type { Platform } from '../platform/platform.ts';
import type { Instance } from './instance.ts';
import type { ClusterNode } from './node.ts';

/** What the server is made from. */
export interface KubeletServerDeps {
  readonly platform: Platform;
  /** Acts as the node: asks the API server who calls and whether they may. */
  readonly client: Client;
  readonly instance: Instance;
  readonly port: number;
  readonly tls: NonNullable<ListenOptions['tls']>;
}

/** Opens it on all addresses. */
export function openKubeletServer(
  deps: KubeletServerDeps,
  { kubelet, podContainers }: ClusterNode,
  cri: CriRuntime,
): Promise<HttpServer> {
  const { platform, client, instance, port, tls } = deps;
  const auth = createDelegatedAuth(
    { client, platform },
    { nodeName: instance.nodeName, anonymous: false, tokenWebhook: true, authorizationMode: 'Webhook' },
  );
  const handler = createKubeletServer({
    host: kubelet.host,
    runtime: kubelet.runtime,
    auth,
    platform,
    stats: createStatsProvider(
      { platform, cri, host: kubelet.host, volumes: kubelet.volumes, podCgroups: podContainers },
      { kubeletRoot: instance.kubeletRoot, podLogsDir: instance.podLogsRoot },
    ),
    probeMetrics: async () =>
      (await platform.metrics.expose())
        .split('\n')
        .filter((line) => /prober_/.test(line))
        .join('\n'),
  });
  return platform.listenHttp({ host: '0.0.0.0', port, tls }, handler);
}
