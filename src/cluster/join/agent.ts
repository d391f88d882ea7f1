/**
 * A machine of somebody else's cluster: kubelet, service proxy and DNS, with a control plane elsewhere. It works through
 * the servers' absence: pods run on, rules and names stay, and everything reconnects by itself.
 */
import { KUBERNETES_VERSION, VERSION } from '../../base/version.ts';
import type { Platform } from '../../platform/platform.ts';
import type { InstanceStatus } from '../cluster-status.ts';
import { processMemory } from '../process-memory.ts';
import { nodeAddresses } from '../instance/host-address.ts';
import { makeInstanceDirectories } from '../instance/instance-directories.ts';
import { createLocalNode } from '../node/local-node.ts';
import { stopPart } from '../node/stop-part.ts';
import type { Progress } from '../progress.ts';
import type { AgentOptions } from './agent-options.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import { openServerBalancer, type ServerBalancer } from './server-balancer.ts';
import { createRemoteConnection } from './remote-connection.ts';

/** How the agent is set up, settled. */
export interface AgentConfig extends PreparedAgent {
  readonly options: AgentOptions;
  readonly progress: Progress;
}

export interface Agent {
  /** Resolves when the node is Ready. */
  start(): Promise<void>;
  /** Ends this process's part. Pods keep running. */
  stop(): Promise<void>;
  /** Never settles: an agent has no part that fails for good after its start. */
  readonly failed: Promise<never>;
  status(): Promise<InstanceStatus>;
  /** Records a warning event of the node. */
  announce(reason: 'KeelsonRestarted', message: string): void;
}

/** Creates it; nothing runs before `start`. */
export function createAgent(platform: Platform, config: AgentConfig): Agent {
  const { instance, options, servers, caPem, progress } = config;
  const { containerRuntimeEndpoint, token } = options;
  const lifetime = new AbortController();
  const { signal } = lifetime;
  const startedMs = platform.clock.monotonicMs();
  const { clusterCidr } = instance;
  const nodeIps = nodeAddresses(platform.net.interfaces(), { nodeIp: options.nodeIp, clusterCidr });
  const server = config.apiPort === undefined ? (servers[0] ?? '') : `https://127.0.0.1:${config.apiPort.port}`;
  const connection = createRemoteConnection(platform, {
    instance,
    server,
    caPem,
    nodeIps,
    bootstrapToken: token?.bootstrapToken,
  });
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
  let balancer: ServerBalancer | undefined;
  const openBalancer = async (): Promise<void> => {
    if (config.apiPort === undefined) return;
    await config.apiPort.release();
    balancer = await openServerBalancer(platform, { servers, port: config.apiPort.port });
  };
  const startParts = async (): Promise<void> => {
    await node.readFiles();
    await makeInstanceDirectories(platform.files, instance, platform.log);
    node.prepare(signal);
    await openBalancer();
    await progress.phase('certificates', () => connection.open(signal));
    keeping = connection.keep(signal);
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
      await stopPart(platform, 'the start', started);
      await node.stop();
      await stopPart(platform, 'certificates', keeping);
      await stopPart(platform, 'the way to the servers', balancer?.close());
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
      components: node.status(),
    }),
  };
}
