/**
 * The services of a node beside its kubelet: the kubelet's HTTPS server and the service proxy in this process, DNS in
 * a process of its own. Rules and DNS remain when Keelson stops, so services keep answering; `removeNodeServices`
 * ends them.
 */
import { dnsAddress } from '../network/pod-network.ts';
import { rangesOf } from '../../base/cidr.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { createAbsentClient } from '../../client/absent-client.ts';
import type { Client } from '../../client/client.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import type { HttpServer } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { removeNetworkPolicies, runNetworkPolicies } from '../../proxy/network-policy/network-policies.ts';
import { createServiceProxy } from '../../proxy/service-proxy.ts';
import type { ProxyMode } from '../../proxy/proxy-config.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer, InformerFactory } from '../../client/informer.ts';
import type { ComponentStatus } from '../cluster-status.ts';
import { createDnsDaemon, type DnsDaemon } from './dns-daemon.ts';
import type { Instance } from '../instance/instance.ts';
import { runNodeRoutes } from '../network/node-routes.ts';
import { removePodBandwidth, runPodBandwidth } from '../network/pod-bandwidth.ts';
import type { PodNetwork } from '../network/pod-network.ts';
import type { RunningRegistry } from '../registry/run-registry.ts';
import { openPlainServers } from './kubelet-plain-servers.ts';
import { handlerSettings, openKubeletServer, type KubeletServerDeps } from './kubelet-server.ts';
import type { NodeConnection } from './node-connection.ts';
import type { ClusterNode } from './node.ts';
import { appendAll } from '../../base/lists.ts';

export interface NodeServicesDeps {
  readonly platform: Platform;
  readonly connection: NodeConnection;
  readonly instance: Instance;
  readonly kubeletPort: number;
  /** The registry's loopback port. */
  readonly registryPort?: number | undefined;
  /** The loopback port of the proxy of mirrors. */
  readonly mirrorPort?: number | undefined;
  readonly registry?: Promise<RunningRegistry | undefined> | undefined;
  /** The kubelet configuration, where the user gives settings. */
  readonly kubeletDocument?: KubeletConfigurationV1Beta1 | undefined;
  readonly nodeIp: string;
  readonly proxyMode: ProxyMode;
  readonly nodePortAddresses: readonly string[];
  readonly dnsStubDomains: readonly string[];
  readonly network: Pick<PodNetwork, 'keep' | 'setMtu' | 'routeLoopback'>;
}

export interface NodeServices {
  /** Opens the kubelet's server once its certificate is issued. */
  serveKubelet(node: ClusterNode): Promise<void>;
  status(): readonly ComponentStatus[];
  /** Ends the parts that run in this process. */
  stop(): Promise<void>;
}

/** Starts the proxy, and DNS once its address is known. */
export function startNodeServices(deps: NodeServicesDeps, signal: AbortSignal): NodeServices {
  const { platform, instance, network } = deps;
  const sources = { clock: platform.clock, random: platform.random, log: platform.log, client: deps.connection.proxy };
  const informers = createInformerFactory(sources);
  const events = createEventBroadcaster(sources);
  events.start(signal);
  const recorder = events.recorderFor('kube-proxy', instance.nodeName);
  // The user's CNI plugin decides how pods are attached.
  const loopback = instance.cni === 'none' ? {} : { routeLoopback: () => network.routeLoopback() };
  const { proxyMode, nodePortAddresses } = deps;
  // Port 0 means that nothing listens.
  const { kubeletPort, registryPort = 0, mirrorPort = 0 } = deps;
  const ownTcpPorts = [instance.httpsPort, kubeletPort, registryPort, mirrorPort].filter((port) => port > 0);
  const config = { ...proxyConfig(instance, proxyMode), nodePortAddresses, ownTcpPorts };
  const tunnels = new TunnelStatus();
  const proxy = createServiceProxy({ informers, platform, recorder, ...loopback }, config);
  const running = Promise.all([
    leaveOtherMode(deps).then(() => proxy.start(signal)),
    ...podNetworkLoops(deps, { informers, recorder, tunnels }, signal),
  ]);
  const nodes = deps.registryPort === undefined ? undefined : informers.informer(Nodes);
  informers.start(signal);
  const dns = clusterDns(deps);
  const dnsRunning = dns?.start(signal);
  const servers: HttpServer[] = [];
  return {
    async serveKubelet(node) {
      const { connection, kubeletPort: port } = deps;
      const pair = await connection.servingCertificate(signal);
      const tls = { ...pair, clientCaPem: connection.caPem };
      const document = deps.kubeletDocument;
      const wrap = await sharedRegistry(deps, nodes, signal);
      const settings = document === undefined ? {} : { ...handlerSettings(document), address: document.address };
      const opened = await openKubeletServer(
        { platform, client: connection.kubelet, config: node.config, tls, port, ...wrap, ...settings },
        node,
      );
      servers.push(opened);
      if (deps.kubeletDocument !== undefined)
        appendAll(servers, await openPlainServers({ platform, node }, deps.kubeletDocument));
      connection.onServingCertificate(({ certPem, keyPem }) => opened.setCertificate({ certPem, keyPem }));
    },
    status: () => [
      { name: 'proxy', healthy: proxy.healthy(), message: proxy.healthy() ? '' : 'service rules are not in place' },
      ...(dns === undefined
        ? []
        : [{ name: 'dns', healthy: dns.healthy(), message: dns.healthy() ? '' : 'the DNS process does not run' }]),
      ...(instance.flannelBackend === 'wireguard-native' ? [tunnels.status()] : []),
    ],
    async stop() {
      await Promise.all(servers.map((server) => server.close(500)));
      await Promise.all([running, dnsRunning]);
    },
  };
}

/** Shares the registry with other nodes: pulls use theirs, and they read this one at the kubelet's server. */
async function sharedRegistry(
  { platform, connection, instance, registry }: NodeServicesDeps,
  nodes: Informer<Node> | undefined,
  signal: AbortSignal,
): Promise<Pick<KubeletServerDeps, 'wrap'>> {
  const running = await registry;
  if (running === undefined || nodes === undefined) return {};
  const { shareRegistry } = await import('../registry/share-registry.ts');
  await nodes.waitForSync(signal);
  return { wrap: shareRegistry({ platform, connection, nodeName: instance.nodeName, nodes }, running) };
}

function proxyConfig(instance: Instance, mode: ProxyMode): Parameters<typeof createServiceProxy>[1] {
  const { nodeName, nftTable, clusterCidr, serviceCidr, masqueradeMark } = instance;
  const ownDns = instance.dns === 'none' ? {} : { ownDns: dnsAddress(serviceCidr) };
  return { nodeName, nftTable, clusterCidr, serviceCidr, masqueradeMark, mode, ...ownDns };
}

/** Keelson's DNS, unless the user brings one: then the DNS of an earlier start is ended. */
function clusterDns({
  platform,
  instance,
  connection,
  dnsStubDomains: stubDomains,
}: NodeServicesDeps): DnsDaemon | undefined {
  if (instance.dns !== 'none') return createDnsDaemon(platform, instance, { ...connection, stubDomains });
  createDnsDaemon(platform, instance, undefined)
    .remove()
    .catch((error: unknown) => platform.log.error('cannot end the DNS process', { err: error }));
  return undefined;
}

/**
 * The loops that keep the pod network; the routes between nodes are left to the user's CNI plugin where there is one.
 */
function podNetworkLoops(
  { platform, instance, nodeIp, network, connection }: NodeServicesDeps,
  {
    informers,
    recorder,
    tunnels,
  }: { readonly informers: InformerFactory; readonly recorder: EventRecorder; readonly tunnels: TunnelStatus },
  signal: AbortSignal,
): Promise<void>[] {
  if (instance.cni === 'none') return [network.keep(signal)];
  const setMtu = (mtu: number): Promise<void> => network.setMtu(mtu);
  // Not 0, and equal on all nodes of the cluster, since it derives from their authority.
  const vni = Number.parseInt(platform.crypto.sha256Hex(connection.caPem).slice(0, 6), 16) || 1;
  return [
    network.keep(signal),
    runNodeRoutes(
      { informers, platform, setMtu, client: connection.kubelet, report: (problem) => tunnels.report(problem) },
      { instance, nodeIp, vni },
      signal,
    ),
    ...policyConfigs(instance).map((config) => runNetworkPolicies({ informers, platform, recorder }, config, signal)),
    runPodBandwidth({ informers, platform }, instance, signal),
  ];
}

/** The state of the encrypted tunnels to other nodes. */
class TunnelStatus {
  #problem = 'not started';

  report(problem: string): void {
    this.#problem = problem;
  }

  status(): ComponentStatus {
    return { name: 'wireguard', healthy: this.#problem === '', message: this.#problem };
  }
}

/** One table configuration per address family. */
function policyConfigs({ nodeName, nftTable, clusterCidr }: Instance): Parameters<typeof runNetworkPolicies>[1][] {
  return rangesOf(clusterCidr).map((range) => ({ nodeName, table: `${nftTable}-policies`, clusterCidr: range }));
}

const modeFile = (instance: Instance): string => `${instance.dataDir}/proxy-mode`;

async function lastMode({ files }: Pick<Platform, 'files'>, instance: Instance): Promise<ProxyMode | undefined> {
  const path = modeFile(instance);
  return (await files.exists(path)) ? ((await files.readText(path)).trim() as ProxyMode) : undefined;
}

/** Removes the rules of an earlier start's proxy mode, and records the present mode for the next. */
async function leaveOtherMode({ platform, instance, proxyMode }: NodeServicesDeps): Promise<void> {
  try {
    const last = await lastMode(platform, instance);
    if (last === proxyMode) return;
    const informers = createInformerFactory({ ...platform, client: noClient(platform) });
    if (last !== undefined) await createServiceProxy({ informers, platform }, proxyConfig(instance, last)).remove();
    await platform.files.writeFileAtomic(modeFile(instance), `${proxyMode}\n`);
  } catch (error) {
    platform.log.error('cannot remove the rules of the former proxy mode', { err: error });
  }
}

/** Ends the DNS process and removes the service rules; missing ones are no error. */
export async function removeNodeServices(platform: Platform, instance: Instance): Promise<void> {
  await createDnsDaemon(platform, instance, undefined).remove();
  const informers = createInformerFactory({
    client: noClient(platform),
    clock: platform.clock,
    random: platform.random,
    log: platform.log,
  });
  const mode = (await lastMode(platform, instance)) ?? 'nftables';
  await createServiceProxy({ informers, platform }, proxyConfig(instance, mode)).remove();
  for (const config of policyConfigs(instance)) await removeNetworkPolicies({ platform }, config);
  await removePodBandwidth(platform, instance);
  await (await import('../network/wireguard/device.ts')).removeWireguardDevice(platform, instance);
}

// Removing rules reads nothing from the API.
const noClient = ({ clock }: Pick<Platform, 'clock'>): Client =>
  createAbsentClient(clock, 'rules are taken away without the API');
