/** The addresses that the kubelet uses for its node. Upstream: nodeIPs of Kubelet and the cloud provider's addresses. */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Platform } from '../../platform/platform.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';

/** With an external cloud provider the addresses it has set, once it has. */
export function createNodeIps(
  platform: Pick<Platform, 'net'>,
  config: Pick<KubeletConfiguration, 'nodeIps' | 'externalCloud'>,
  ownNode: () => Node | undefined,
): () => readonly string[] {
  const nodeIps = findNodeIps(platform, config.nodeIps);
  return () => (config.externalCloud ? (cloudNodeIps(ownNode()) ?? nodeIps) : nodeIps);
}

function cloudNodeIps(node: Node | undefined): readonly string[] | undefined {
  const addresses = node?.status?.addresses ?? [];
  const internal = addresses.flatMap(({ type, address }) => (type === 'InternalIP' ? [address] : []));
  return internal.length === 0 ? undefined : internal;
}

/** The configured addresses, else the first global address of the node's interfaces. */
function findNodeIps(platform: Pick<Platform, 'net'>, configured: readonly string[]): readonly string[] {
  if (configured.length > 0) return configured;
  const usable = platform.net
    .interfaces()
    .filter(({ internal, address }) => !internal && !/^(169\.254\.|fe80:)/i.test(address));
  const own =
    usable.find(({ family, name }) => family === 4 && /^(e|wl|bond)/.test(name)) ??
    usable.find(({ family }) => family === 4) ??
    usable[0];
  return own === undefined ? ['127.0.0.1'] : [own.address];
}
