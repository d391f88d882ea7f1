/**
 * Keeps the ways to other nodes' pods in the kernel: routes with a protocol number of their own, and, where a node is not
 * on a link of ours, a VXLAN device of this instance with a permanent neighbour and forwarding entry per node. Follows Node
 * objects; looks again every half minute, which heals what others did. Everything is gone with `remove`.
 */
import { onAbort } from '../../base/abort.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { cidrContains, parseCidr, parseIp, rangeFamily, rangesOf } from '../../base/cidr.ts';
import type { InformerFactory } from '../../client/informer.ts';
import type { Platform } from '../../platform/platform.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import type { Instance } from '../instance/instance.ts';
import { createNodeLinks, ROUTE_PROTOCOL } from './node-links.ts';
import { nodePaths, tunnelEnd, type NodePath } from './node-paths.ts';
import { appendAll } from '../../base/lists.ts';

export interface NodeRoutesDeps {
  readonly informers: InformerFactory;
  readonly platform: Pick<Platform, 'exec' | 'files' | 'net' | 'clock' | 'log'>;
  /** Called whenever the largest packet between nodes changes. */
  readonly setMtu: (mtu: number) => Promise<void>;
}

/** The node, and the identifiers that mark its cluster's packets. */
export interface NodeRoutesConfig {
  readonly instance: Instance;
  readonly nodeIp: string;
  /** The VXLAN network identifier: 24 bits that the nodes of one cluster share and other clusters do not. */
  readonly vni: number;
}

/** flannel's port, which firewalls of clusters let through. */
const VXLAN_PORT = 8472;
const VXLAN_OVERHEAD = 50;
const CHECK_PERIOD_MS = 30_000;
const RETRY_MS = 1_000;

interface Route {
  readonly dst: string;
  readonly gateway?: string;
  readonly dev?: string;
}

/** Runs until the signal aborts; routes stay. Never rejects. Its informers must be started by the caller. */
export async function runNodeRoutes(
  deps: NodeRoutesDeps,
  config: NodeRoutesConfig,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps.platform;
  const nodes = deps.informers.informer(Nodes);
  let wake = Promise.withResolvers<void>();
  const kick = (): void => wake.resolve();
  nodes.addHandler({ onAdd: kick, onUpdate: kick, onDelete: kick });
  onAbort(signal, kick);
  let due = true;
  const stopTicker = clock.setTicker(CHECK_PERIOD_MS, () => {
    due = true;
    kick();
  });
  const linksTo = createNodeLinks(deps.platform, config.instance);
  try {
    await nodes.waitForSync(signal);
    let last = '';
    let lastRefused = '';
    while (!signal.aborted) {
      wake = Promise.withResolvers();
      const checking = due;
      due = false;
      try {
        const { nodeName, clusterCidr } = config.instance;
        const ownCidrs = nodes.get({ name: nodeName })?.spec?.podCIDRs ?? [];
        const links = await linksTo(nodes.list(), checking);
        const { paths, refused } = nodePaths(nodes.list(), {
          nodeName,
          links,
          addresses: new Set(deps.platform.net.interfaces().map(({ address }) => address)),
          clusterRanges: rangesOf(clusterCidr),
          podCidrs: ownCidrs,
        });
        if (refused.length > 0 && refused.join() !== lastRefused)
          log.warn('ranges of nodes are not routed: they are outside the cluster’s or another node’s', { refused });
        lastRefused = refused.join();
        const wanted = JSON.stringify([paths, ownCidrs]);
        if (wanted !== last || checking) await apply(deps, config, { paths, ownCidrs });
        last = wanted;
      } catch (error) {
        if (signal.aborted) return;
        due = true;
        logFailedRound(log, 'cannot route to other nodes, again later', { err: error });
        await clock.sleep(RETRY_MS, signal);
        continue;
      }
      await wake.promise;
    }
  } catch (error) {
    if (!signal.aborted) log.unexpected('routes to other nodes are followed no more', error);
  } finally {
    stopTicker();
  }
}

interface DesiredRoutes {
  readonly paths: readonly NodePath[];
  /** Empty until this node has its range. */
  readonly ownCidrs: readonly string[];
}

async function apply(
  deps: NodeRoutesDeps,
  config: NodeRoutesConfig,
  { paths, ownCidrs }: DesiredRoutes,
): Promise<void> {
  const { instance } = config;
  const tunnelled = ownCidrs.length === 0 ? [] : paths.filter(({ via }) => via === 'vxlan');
  const outerMtu = await mtuOf(deps, config.nodeIp);
  if (outerMtu !== undefined) await deps.setMtu(outerMtu - (tunnelled.length > 0 ? VXLAN_OVERHEAD : 0));
  if (tunnelled.length > 0)
    await ensureTunnel(deps, config, { paths: tunnelled, ownCidrs, mtu: (outerMtu ?? 1500) - VXLAN_OVERHEAD });
  const present = await ownRoutes(deps, instance);
  const reachable = ownCidrs.length === 0 ? paths.filter(({ via }) => via === 'link') : paths;
  const same = (route: Route, path: NodePath): boolean =>
    route.dst === path.podCidr &&
    route.gateway === path.gateway &&
    (route.dev === instance.tunnelDevice) === (path.via === 'vxlan');
  const stale = present.filter((route) => !reachable.some((path) => route.dst === path.podCidr));
  const missing = reachable.filter((path) => !present.some((route) => same(route, path)));
  await ip(deps, [
    ...stale.map(({ dst }) => `route del ${dst} proto ${ROUTE_PROTOCOL}`),
    ...missing.map(({ podCidr, gateway, via }) => {
      const through = via === 'vxlan' ? `via ${gateway} dev ${instance.tunnelDevice} onlink` : `via ${gateway}`;
      return `route replace ${podCidr} ${through} proto ${ROUTE_PROTOCOL}`;
    }),
  ]);
}

async function ensureTunnel(
  deps: NodeRoutesDeps,
  { instance, nodeIp, vni }: NodeRoutesConfig,
  { paths, ownCidrs, mtu }: { paths: readonly NodePath[]; ownCidrs: readonly string[]; mtu: number },
): Promise<void> {
  const { platform } = deps;
  const device = instance.tunnelDevice;
  const { mac: ownMac } = tunnelEnd(ownCidrs[0] ?? '');
  if (!(await platform.files.exists(`/sys/class/net/${device}`)))
    await ip(deps, [`link add ${device} type vxlan id ${vni} dstport ${VXLAN_PORT} local ${nodeIp} nolearning`]);
  await ip(deps, [
    `link set ${device} address ${ownMac} mtu ${mtu} up`,
    ...ownCidrs.map(
      (range) => `addr replace ${tunnelEnd(range).gateway}/${range.includes(':') ? '128 nodad' : '32'} dev ${device}`,
    ),
    ...paths.map(({ gateway, mac }) => `neigh replace ${gateway} lladdr ${mac} dev ${device} nud permanent`),
  ]);
  const entries = paths.map(({ mac, nodeIp: outer }) => `fdb replace ${mac} dev ${device} dst ${outer} self permanent`);
  await batch(deps, 'bridge', entries);
  // The routes of a node that is gone are removed: they would lead to the next machine with its address.
  const listed = await platform.exec.run('ip', ['-json', 'neigh', 'show', 'dev', device, 'nud', 'permanent']);
  const known = JSON.parse(listed.stdout === '' ? '[]' : listed.stdout) as { dst: string; lladdr?: string }[];
  const gone = known.filter(({ dst }) => !paths.some(({ gateway }) => gateway === dst));
  await ip(
    deps,
    gone.map(({ dst }) => `neigh del ${dst} dev ${device}`),
  );
  await batch(
    deps,
    'bridge',
    // Both families of a node share one entry.
    [...new Set(gone.flatMap(({ lladdr }) => lladdr ?? []))]
      .filter((lladdr) => !paths.some(({ mac }) => mac === lladdr))
      .map((lladdr) => `fdb del ${lladdr} dev ${device} self`),
  );
}

/** The MTU of the link that has the node's address. */
async function mtuOf({ platform }: NodeRoutesDeps, nodeIp: string): Promise<number | undefined> {
  const link = platform.net.interfaces().find(({ address }) => address === nodeIp)?.name;
  const path = `/sys/class/net/${link}/mtu`;
  if (link === undefined || !(await platform.files.exists(path))) return undefined;
  return Number((await platform.files.readText(path)).trim());
}

async function ownRoutes({ platform }: Pick<NodeRoutesDeps, 'platform'>, instance: Instance): Promise<Route[]> {
  const found: Route[] = [];
  for (const range of rangesOf(instance.clusterCidr)) {
    const family = `-${rangeFamily(range)}`;
    const { stdout } = await platform.exec.run('ip', [family, '-json', 'route', 'show', 'proto', ROUTE_PROTOCOL]);
    const cluster = parseCidr(range);
    const ours = (JSON.parse(stdout === '' ? '[]' : stdout) as Route[]).filter(({ dst }) => {
      const address = parseIp(dst.split('/')[0] ?? '');
      return cluster !== undefined && address !== undefined && cidrContains(cluster, address);
    });
    appendAll(found, ours);
  }
  return found;
}

function ip(deps: Pick<NodeRoutesDeps, 'platform'>, lines: readonly string[]): Promise<void> {
  return batch(deps, 'ip', lines);
}

async function batch(
  { platform }: Pick<NodeRoutesDeps, 'platform'>,
  program: 'ip' | 'bridge',
  lines: readonly string[],
): Promise<void> {
  if (lines.length === 0) return;
  // One line that the kernel refuses keeps no other back.
  const result = await platform.exec.run(program, ['-force', '-batch', '-'], { input: `${lines.join('\n')}\n` });
  if (result.exitCode !== 0) throw new Error(`${program}: ${result.stderr.trim()}`);
}

/** Removes routes and tunnel. Nothing there is no error. */
export async function removeNodeRoutes(
  deps: { readonly platform: Pick<Platform, 'exec' | 'files'> },
  instance: Instance,
): Promise<void> {
  const own = deps as Pick<NodeRoutesDeps, 'platform'>;
  const routes = await ownRoutes(own, instance);
  await ip(
    own,
    routes.map(({ dst }) => `route del ${dst} proto ${ROUTE_PROTOCOL}`),
  );
  if (await deps.platform.files.exists(`/sys/class/net/${instance.tunnelDevice}`))
    await ip(own, [`link del ${instance.tunnelDevice}`]);
}
