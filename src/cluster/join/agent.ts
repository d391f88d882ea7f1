/**
 * An agent: kubelet, service proxy and DNS of a cluster whose control plane is on other machines. It keeps working
 * while no server answers: pods run on, rules and names are kept, and everything reconnects.
 */
import { KUBERNETES_VERSION, VERSION } from '../../base/version.ts';
import type { Platform } from '../../platform/platform.ts';
import type { InstanceStatus } from '../cluster-status.ts';
import { processMemory } from '../process-memory.ts';
import { freePorts } from '../gateway/former-data-plane.ts';
import { JoinedRoutes, nodeDataPlane } from '../gateway/nodes/joined-routes.ts';
import { nodeAddresses } from '../instance/host-address.ts';
import { makeInstanceDirectories } from '../instance/instance-directories.ts';
import { createLocalNode } from '../node/local-node.ts';
import { StopParts } from '../stop-parts.ts';
import type { Progress } from '../progress.ts';
import type { AgentOptions } from './agent-options.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import { openServerBalancer, type ServerBalancer } from './server-balancer.ts';
import { createRemoteConnection, type RemoteConnection } from './remote-connection.ts';

/** The checked and completed settings of the agent. */
export interface AgentConfig extends PreparedAgent {
  readonly options: AgentOptions;
  readonly progress: Progress;
}

export interface Agent {
  /** Resolves when the node is Ready. */
  start(): Promise<void>;
  /** Ends this process's parts. Pods keep running. */
  stop(): Promise<void>;
  /** Never settles, since no part of an agent fails permanently after the start. */
  readonly failed: Promise<never>;
  status(): Promise<InstanceStatus>;
  /** Records a warning event on the node. */
  announce(reason: 'KeelsonRestarted', message: string): void;
}

interface TunnelledNode {
  readonly connection: RemoteConnection;
  readonly nodeIps: readonly string[];
}

/** Nothing runs before `start`. */
export function createAgent(platform: Platform, config: AgentConfig): Agent {
  const { instance, options, servers, caPem, progress } = config;
  const { containerRuntimeEndpoint, token } = options;
  const lifetime = new AbortController();
  const { signal } = lifetime;
  const startedMs = platform.clock.monotonicMs();
  const { clusterCidr } = instance;
  const nodeIps = nodeAddresses(platform.net.interfaces(), { nodeIp: options.nodeIp, clusterCidr });
  const server = config.apiPort === undefined ? (servers[0] ?? '') : `https://127.0.0.1:${config.apiPort.port}`;
  const bootstrapToken = token?.bootstrapToken;
  const connection = createRemoteConnection(platform, { instance, server, caPem, nodeIps, bootstrapToken }, signal);
  const node = createLocalNode(platform, {
    ...config,
    nodeIps,
    proxyMode: options.proxyMode ?? 'nftables',
    nodePortAddresses: options.nodePortAddresses ?? [],
    dnsStubDomains: options.dnsStubDomains ?? [],
    containerRuntimeEndpoint: containerRuntimeEndpoint || undefined,
    registryPort: options.registryPort,
    ...(options.kubelet && { kubelet: options.kubelet }),
  });
  let [joined, keeping, started]: [boolean, Promise<void>, Promise<void>] = [
    false,
    Promise.resolve(),
    Promise.resolve(),
  ];
  let tunnels: Promise<void> = Promise.resolve();
  let balancer: ServerBalancer | undefined;
  const openBalancer = async (): Promise<void> => {
    if (config.apiPort === undefined) return;
    await config.apiPort.release();
    balancer = await openServerBalancer(platform, { servers, port: config.apiPort.port });
  };
  const routes = new JoinedRoutes({
    platform,
    client: connection.kubelet,
    dataPlane: nodeDataPlane(platform, instance),
  });
  const startParts = async (): Promise<void> => {
    await node.readFiles();
    await freePorts(platform, instance, node.plainPorts());
    await makeInstanceDirectories(platform.files, instance, platform.log);
    node.prepare(signal);
    await openBalancer();
    await progress.phase('certificates', () => connection.open(signal));
    keeping = Promise.all([connection.keep(signal), routes.run(signal)]).then(() => undefined);
    if (options.tunnel === true) {
      tunnels = openTunnels(platform, { ...config, connection, nodeIps }, signal);
      if (options.registryPort !== undefined)
        platform.log.warn(
          '--tunnel carries no images: what is pushed to the registry here is for this node alone, unless others reach its kubelet',
        );
    }
    await node.join(connection, signal);
    joined = true;
  };
  return {
    failed: new Promise<never>(() => undefined),
    start() {
      const starting = startParts();
      started = starting.catch(() => undefined);
      return starting;
    },
    async stop() {
      lifetime.abort(new Error('keelson is stopping'));
      const parts = new StopParts(platform);
      await parts.wait('the start', started);
      await node.stop(parts);
      await parts.wait('certificates and routes', keeping);
      await parts.wait('tunnels', tunnels);
      await parts.wait('the way to the servers', balancer?.close());
    },
    announce: (reason, message) => node.announce(reason, message),
    status: async () => ({
      phase: joined ? 'running' : 'starting',
      role: 'agent',
      pid: process.pid,
      version: VERSION,
      kubernetesVersion: KUBERNETES_VERSION,
      uptimeSeconds: (platform.clock.monotonicMs() - startedMs) / 1000,
      ...processMemory(),
      server: servers.join(', '),
      containerdSocket: containerRuntimeEndpoint ?? `unix://${instance.containerd.socket}`,
      clusterCidr: instance.clusterCidr,
      serviceCidr: instance.serviceCidr,
      clusterDomain: instance.clusterDomain,
      components: [...node.status(), ...routes.status()],
    }),
  };
}

/** Loads the code of tunnels only if they are enabled. */
async function openTunnels(
  { net, clock, log }: Platform,
  { servers, caPem, connection, nodeIps, kubeletPort }: AgentConfig & TunnelledNode,
  signal: AbortSignal,
): Promise<void> {
  const { keepKubeletTunnels } = await import('./kubelet-tunnels.ts');
  const tls = async () => ({ caPem, ...(await connection.clientCertificate()) });
  const kubelet = { host: nodeIps[0] ?? '127.0.0.1', port: kubeletPort.port };
  await keepKubeletTunnels({ net, clock, log: log.child('tunnel') }, { servers, tls, kubelet }, signal);
}
