/**
 * The kubelet's plain HTTP servers where the configuration enables them: the read-only port and healthz on loopback.
 */
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import { textResponse } from '../../kubelet/server/text-response.ts';
import type { HttpServer } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { openReadOnlyServer } from './kubelet-server.ts';
import type { ClusterNode } from './node.ts';

interface PlainServersDeps {
  readonly platform: Platform;
  readonly node: ClusterNode;
}

/** Opens each server whose port is not 0. */
export async function openPlainServers(
  deps: PlainServersDeps,
  config: Pick<KubeletConfigurationV1Beta1, 'readOnlyPort' | 'address' | 'healthzPort' | 'healthzBindAddress'>,
): Promise<readonly HttpServer[]> {
  const { platform, node } = deps;
  const { readOnlyPort: port, address } = config;
  const servers: HttpServer[] = [];
  if (port > 0) servers.push(await openReadOnlyServer({ platform, config: node.config, port, address }, node));
  if (config.healthzPort > 0) servers.push(await openHealthz(deps, config));
  return servers;
}

function openHealthz(
  { platform, node }: PlainServersDeps,
  config: Pick<KubeletConfigurationV1Beta1, 'healthzPort' | 'healthzBindAddress'>,
): Promise<HttpServer> {
  return platform.listenHttp({ host: config.healthzBindAddress, port: config.healthzPort }, ({ path }) => {
    if (path !== '/healthz' && !path.startsWith('/healthz/')) return textResponse(404, '404 page not found\n');
    const problems = node.kubelet.host.healthProblems();
    return problems.length === 0 ? textResponse(200, 'ok') : textResponse(500, `${problems.join('; ')}\n`);
  });
}
