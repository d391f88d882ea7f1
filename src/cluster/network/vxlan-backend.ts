/**
 * Routes between nodes without encryption: by link where they share one, else through a VXLAN device of this instance
 * with a permanent neighbour and forwarding entry per node. Upstream: flannel's host-gw and vxlan backends.
 */
import { rangesOf } from '../../base/cidr.ts';
import { runBatch, hasDevice, mtuOfAddress, syncRoutes } from './kernel-routes.ts';
import { createNodeLinks } from './node-links.ts';
import { nodePaths, tunnelEnd, type NodePath } from './node-paths.ts';
import type { NodeRoutesConfig, RouteBackend, RouteBackendDeps } from './route-backend.ts';

/** flannel's port, which cluster firewalls usually let through. */
const VXLAN_PORT = 8472;
const VXLAN_OVERHEAD = 50;

export function createVxlanBackend(deps: RouteBackendDeps, config: NodeRoutesConfig): RouteBackend {
  const { log, net } = deps.platform;
  const { nodeName, clusterCidr } = config.instance;
  const linksTo = createNodeLinks(deps.platform, config.instance);
  let last = '';
  let lastRefused = '';
  return {
    async follow(nodes, checking) {
      const ownCidrs = nodes.find(({ metadata }) => metadata.name === nodeName)?.spec?.podCIDRs ?? [];
      const links = await linksTo(nodes, checking);
      const { paths, refused } = nodePaths(nodes, {
        nodeName,
        links,
        addresses: new Set(net.interfaces().map(({ address }) => address)),
        clusterRanges: rangesOf(clusterCidr),
        podCidrs: ownCidrs,
      });
      if (refused.length > 0 && refused.join() !== lastRefused)
        log.warn('ranges of nodes are not routed: they are outside the cluster’s or another node’s', { refused });
      lastRefused = refused.join();
      const wanted = JSON.stringify([paths, ownCidrs]);
      if (wanted !== last || checking) await apply(deps, config, { paths, ownCidrs });
      last = wanted;
    },
  };
}

interface DesiredRoutes {
  readonly paths: readonly NodePath[];
  /** This node's pod ranges; empty until they are assigned. */
  readonly ownCidrs: readonly string[];
}

async function apply(
  deps: RouteBackendDeps,
  config: NodeRoutesConfig,
  { paths, ownCidrs }: DesiredRoutes,
): Promise<void> {
  const { instance } = config;
  const { tunnelDevice } = instance;
  const tunnelled = ownCidrs.length === 0 ? [] : paths.filter(({ via }) => via === 'vxlan');
  const outerMtu = await mtuOfAddress(deps.platform, config.nodeIp);
  if (outerMtu !== undefined) await deps.setMtu(outerMtu - (tunnelled.length > 0 ? VXLAN_OVERHEAD : 0));
  if (tunnelled.length > 0)
    await ensureTunnel(deps, config, { paths: tunnelled, ownCidrs, mtu: (outerMtu ?? 1500) - VXLAN_OVERHEAD });
  const reachable = ownCidrs.length === 0 ? paths.filter(({ via }) => via === 'link') : paths;
  await syncRoutes(
    deps.platform,
    instance,
    reachable.map(({ podCidr, gateway, via }) => ({
      dst: podCidr,
      line: `${podCidr} via ${gateway}${via === 'vxlan' ? ` dev ${tunnelDevice} onlink` : ''}`,
      matches: (route) => route.gateway === gateway && (route.dev === tunnelDevice) === (via === 'vxlan'),
    })),
  );
}

async function ensureTunnel(
  { platform }: RouteBackendDeps,
  { instance, nodeIp, vni }: NodeRoutesConfig,
  { paths, ownCidrs, mtu }: { paths: readonly NodePath[]; ownCidrs: readonly string[]; mtu: number },
): Promise<void> {
  const device = instance.tunnelDevice;
  const { mac: ownMac } = tunnelEnd(ownCidrs[0] ?? '');
  if (!(await hasDevice(platform, device)))
    await runBatch(platform, 'ip', [
      `link add ${device} type vxlan id ${vni} dstport ${VXLAN_PORT} local ${nodeIp} nolearning`,
    ]);
  await runBatch(platform, 'ip', [
    `link set ${device} address ${ownMac} mtu ${mtu} up`,
    ...ownCidrs.map(
      (range) => `addr replace ${tunnelEnd(range).gateway}/${range.includes(':') ? '128 nodad' : '32'} dev ${device}`,
    ),
    ...paths.map(({ gateway, mac }) => `neigh replace ${gateway} lladdr ${mac} dev ${device} nud permanent`),
  ]);
  const entries = paths.map(({ mac, nodeIp: outer }) => `fdb replace ${mac} dev ${device} dst ${outer} self permanent`);
  await runBatch(platform, 'bridge', entries);
  // A removed node's neighbour entries are deleted: they would lead to the next machine with its address.
  const listed = await platform.exec.run('ip', ['-json', 'neigh', 'show', 'dev', device, 'nud', 'permanent']);
  const known = JSON.parse(listed.stdout === '' ? '[]' : listed.stdout) as { dst: string; lladdr?: string }[];
  const gone = known.filter(({ dst }) => !paths.some(({ gateway }) => gateway === dst));
  await runBatch(
    platform,
    'ip',
    gone.map(({ dst }) => `neigh del ${dst} dev ${device}`),
  );
  await runBatch(
    platform,
    'bridge',
    // One neighbour entry serves both families of a node.
    [...new Set(gone.flatMap(({ lladdr }) => lladdr ?? []))]
      .filter((lladdr) => !paths.some(({ mac }) => mac === lladdr))
      .map((lladdr) => `fdb del ${lladdr} dev ${device} self`),
  );
}
