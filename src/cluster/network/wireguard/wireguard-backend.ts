/**
 * Encrypted tunnels between nodes: one WireGuard device of this instance for both address families, with a peer per
 * node that publishes a key. What goes to pods of other nodes goes through it or nowhere: an unreachable route covers
 * the pods' ranges, for nodes without a tunnel and for a device that has gone. Upstream: flannel's wireguard backend.
 */
import type { Node } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { rangesOf } from '../../../base/cidr.ts';
import { runOrThrow } from '../../../platform/run-or-throw.ts';
import { hasDevice, mtuOfAddress, runBatch, syncRoutes, type DesiredRoute } from '../kernel-routes.ts';
import { tunnelEnd } from '../node-paths.ts';
import type { NodeRoutesConfig, RouteBackend, RouteBackendDeps } from '../route-backend.ts';
import { parseDump, silentPeers, wgChanges } from './device-state.ts';
import { WireguardDevice } from './device.ts';
import { ensureWireguardKey, type WireguardKey } from './key.ts';
import { wireguardPeers, type Peer } from './peers.ts';
import { publishKey } from './publish-key.ts';

/** flannel's: IPv6 40, UDP 8, WireGuard 32. */
const OVERHEAD = 80;
const DEFAULT_MTU = 1500;

export function createWireguardBackend(deps: RouteBackendDeps, config: NodeRoutesConfig): RouteBackend {
  return new WireguardBackend(deps, config);
}

class WireguardBackend implements RouteBackend {
  readonly #deps: RouteBackendDeps;
  readonly #config: NodeRoutesConfig;
  readonly #device: WireguardDevice;
  #key: WireguardKey | undefined;
  #last = '';
  #lastRefused = '';
  readonly #setEndpoints = new Map<string, string>();
  readonly #sinceSeconds = new Map<string, number>();

  constructor(deps: RouteBackendDeps, config: NodeRoutesConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#device = new WireguardDevice(deps.platform, config.instance);
  }

  readonly isAlive = (): boolean => this.#device.isAlive();

  async follow(nodes: readonly Stored<Node>[], checking: boolean): Promise<void> {
    const { instance } = this.#config;
    this.#key ??= await ensureWireguardKey(this.#deps.platform, instance.dataDir);
    const own = nodes.find(({ metadata }) => metadata.name === instance.nodeName);
    const ownCidrs = own?.spec?.podCIDRs ?? [];
    const peers = this.#peers(nodes, ownCidrs, this.#key);
    const wanted = JSON.stringify([peers, ownCidrs]);
    if (wanted !== this.#last || checking) await this.#apply(peers, ownCidrs, this.#key);
    this.#last = wanted;
    await publishKey(this.#deps, own, this.#key.publicKey);
  }

  #peers(nodes: readonly Stored<Node>[], podCidrs: readonly string[], key: WireguardKey): readonly Peer[] {
    const { log, net } = this.#deps.platform;
    const { nodeName, clusterCidr } = this.#config.instance;
    const addresses = new Set(net.interfaces().map(({ address }) => address));
    const own = { nodeName, addresses, clusterRanges: rangesOf(clusterCidr), podCidrs };
    const { peers, refused } = wireguardPeers(nodes, own, key.publicKey);
    if (refused.length > 0 && refused.join() !== this.#lastRefused)
      log.warn('nodes get no tunnel for a range outside the cluster’s, or for a range or key of another node', {
        refused,
      });
    this.#lastRefused = refused.join();
    return peers;
  }

  async #apply(peers: readonly Peer[], ownCidrs: readonly string[], key: WireguardKey): Promise<void> {
    const { platform, report } = this.#deps;
    const { instance } = this.#config;
    const barred = rangesOf(instance.clusterCidr).map(unreachable);
    try {
      // Without the device nothing may go by other ways, such as those of an earlier start without encryption.
      if (!(await hasDevice(platform, instance.wireguardDevice))) await syncRoutes(platform, instance, barred);
      await this.#device.ensure();
      await this.#configure(peers, key);
      await this.#bringUp(ownCidrs);
    } catch (error) {
      report('its device is not in place');
      throw error;
    }
    const reachable = ownCidrs.length === 0 ? [] : peers.flatMap(({ allowedIps }) => allowedIps);
    const routes = reachable.map((range) => through(range, instance.wireguardDevice));
    await syncRoutes(platform, instance, [...barred, ...routes]);
  }

  async #bringUp(ownCidrs: readonly string[]): Promise<void> {
    const { platform, setMtu } = this.#deps;
    const { instance, nodeIp } = this.#config;
    const mtu = ((await mtuOfAddress(platform, nodeIp)) ?? DEFAULT_MTU) - OVERHEAD;
    await setMtu(mtu);
    await runBatch(platform, 'ip', [
      `link set ${instance.wireguardDevice} mtu ${mtu} up`,
      ...(await this.#addressChanges(ownCidrs)),
      // Of an earlier start without encryption.
      ...((await hasDevice(platform, instance.tunnelDevice)) ? [`link del ${instance.tunnelDevice}`] : []),
    ]);
  }

  async #configure(peers: readonly Peer[], key: WireguardKey): Promise<void> {
    const { platform, report } = this.#deps;
    const { wireguardDevice: device } = this.#config.instance;
    const nowSeconds = platform.clock.nowMs() / 1000;
    const state = parseDump(await runOrThrow(platform.exec, ['wg', 'show', device, 'dump']));
    const desired = { publicKey: key.publicKey, keyFile: key.file, peers };
    const changes = wgChanges(state, desired, { nowSeconds, setEndpoints: this.#setEndpoints });
    if (changes.length > 0) await runOrThrow(platform.exec, ['wg', 'set', device, ...changes]);
    keepOnly(this.#setEndpoints, peers);
    keepOnly(this.#sinceSeconds, peers);
    for (const { publicKey, endpoint } of peers) {
      this.#setEndpoints.set(publicKey, endpoint);
      if (!this.#sinceSeconds.has(publicKey)) this.#sinceSeconds.set(publicKey, nowSeconds);
    }
    const silent = silentPeers(state, peers, { nowSeconds, sinceSeconds: this.#sinceSeconds });
    report(silent.length === 0 ? '' : `no handshake for more than 3 minutes with ${silent.toSorted().join(', ')}`);
  }

  /** The node's own packets to pods come from the first address of its range, which the other end accepts. */
  async #addressChanges(ownCidrs: readonly string[]): Promise<readonly string[]> {
    const { wireguardDevice: device } = this.#config.instance;
    const wanted = ownCidrs.map((range) => `${tunnelEnd(range).gateway}/${range.includes(':') ? 128 : 32}`);
    const args = ['-json', 'addr', 'show', 'dev', device, 'scope', 'global'];
    const { stdout } = await this.#deps.platform.exec.run('ip', args);
    const [link] = JSON.parse(stdout === '' ? '[]' : stdout) as readonly DeviceAddresses[];
    // Older versions of `ip` print an empty object for an address of another scope.
    const present = (link?.addr_info ?? []).flatMap(({ local, prefixlen }) =>
      local === undefined ? [] : `${local}/${prefixlen}`,
    );
    return [
      ...present.filter((address) => !wanted.includes(address)).map((address) => `addr del ${address} dev ${device}`),
      ...wanted
        .filter((address) => !present.includes(address))
        .map((address) => `addr replace ${address}${address.includes(':') ? ' nodad' : ''} dev ${device}`),
    ];
  }
}

interface DeviceAddresses {
  readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number }[];
}

function unreachable(range: string): DesiredRoute {
  return { dst: range, line: `unreachable ${range}`, matches: ({ type }) => type === 'unreachable' };
}

function through(range: string, device: string): DesiredRoute {
  return {
    dst: range,
    line: `${range} dev ${device}`,
    matches: ({ dev, gateway }) => dev === device && gateway === undefined,
  };
}

function keepOnly(map: Map<string, unknown>, peers: readonly Peer[]): void {
  const keys = new Set(peers.map(({ publicKey }) => publicKey));
  for (const key of map.keys()) if (!keys.has(key)) map.delete(key);
}
