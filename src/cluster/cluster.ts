/**
 * A cluster's server in one process: the control plane and, unless it has none, the node of this machine, with containerd
 * and DNS beside it. Started in declared order, stopped in reverse. Stopping leaves pods, containerd and DNS running:
 * `take-down.ts` ends them. `keelson up` and `keelson server` are this.
 */
import type { Platform } from '../platform/platform.ts';
import { KUBERNETES_VERSION, VERSION } from '../base/version.ts';
import type { ClusterOptions } from './cluster-options.ts';
import type { InstanceStatus } from './cluster-status.ts';
import { processMemory } from './process-memory.ts';
import { whenPodsAreTaken } from './control-plane/first-account.ts';
import { nodeAddresses } from './instance/host-address.ts';
import { advertisedAddress, localServerUrl } from './instance/server-addresses.ts';
import { makeInstanceDirectories } from './instance/instance-directories.ts';
import type { Instance } from './instance/instance.ts';
import { createLocalNode, type LocalNode } from './node/local-node.ts';
import type { ControlPlane } from './control-plane/control-plane.ts';
import { createLocalServer, type LocalServer } from './control-plane/local-server.ts';
import { createLocalConnection } from './node/node-connection.ts';
import type { PortReservation } from './instance/port-reservation.ts';
import type { NamespaceNodes } from './nodes/namespace-nodes.ts';
import type { NodeAction } from './nodes/node-actions.ts';
import { PreflightError } from './preflight-error.ts';
import type { Progress } from './progress.ts';

/** How the cluster is set up, settled. */
export interface ClusterConfig {
  readonly instance: Instance;
  readonly options: ClusterOptions;
  readonly cniBinDirs: readonly string[];
  readonly kubeletPort: PortReservation;
  /** Held for the API server, where its port was left to choose. */
  readonly apiPort: PortReservation | undefined;
  /** The state is in an etcd of this server's own. */
  readonly ownEtcd: boolean;
  readonly progress: Progress;
}

export interface Cluster {
  /** Resolves when the node is Ready; without a node when the control plane runs. */
  start(): Promise<void>;
  /** Ends this process's part. Pods keep running. */
  stop(): Promise<void>;
  /** Rejects when a part fails for good after the start. */
  readonly failed: Promise<never>;
  status(): Promise<InstanceStatus>;
  /** Copies the store to this file while work goes on. */
  backup(file: string): Promise<void>;
  /** Does what a user asks of a further node of this machine; resolves to the line about it. Rejects with `PreflightError`. */
  actOnNode(action: NodeAction, name: string): Promise<string>;
  /** Records a warning event of this machine's node, where it has one. */
  announce(reason: 'KeelsonRestarted', message: string): void;
  /** Verbs and paths of the requests that are being served. */
  underWay(): readonly string[];
  /** For a quiet time: gives back what it holds to be quick. */
  releaseMemory(): void;
}

/** Creates the cluster; nothing runs before `start`. */
export function createCluster(platform: Platform, config: ClusterConfig): Cluster {
  return new RunningCluster(platform, config);
}

class RunningCluster implements Cluster {
  readonly failed: Promise<never>;
  readonly #platform: Platform;
  readonly #config: ClusterConfig;
  readonly #lifetime = new AbortController();
  readonly #startedMs: number;
  readonly #server: LocalServer;
  readonly #node: LocalNode | undefined;
  /** Once they are prepared, where there are any. */
  #nodes: NamespaceNodes | undefined;
  #started: Promise<void> = Promise.resolve();

  constructor(platform: Platform, config: ClusterConfig) {
    const { instance, options, cniBinDirs, kubeletPort, ownEtcd, progress } = config;
    this.#platform = platform;
    this.#config = config;
    this.#startedMs = platform.clock.monotonicMs();
    const advertiseAddress = advertisedAddress(options, platform.net.interfaces());
    this.#server = createLocalServer(platform, {
      instance,
      options,
      progress,
      ownEtcd,
      advertiseAddress,
      kubeletPort: kubeletPort.port,
      apiPort: config.apiPort,
    });
    this.failed = this.#server.failed;
    const { clusterCidr } = instance;
    const nodeIps = nodeAddresses(platform.net.interfaces(), { nodeIp: options.nodeIp, clusterCidr });
    const { containerRuntimeEndpoint } = options;
    const { proxyMode = 'nftables', nodePortAddresses = [], dnsStubDomains = [] } = options;
    const network = { nodeIps, proxyMode, nodePortAddresses, dnsStubDomains };
    const node = { instance, cniBinDirs, kubeletPort, ...network, progress };
    if (options.disableAgent !== true)
      this.#node = createLocalNode(platform, {
        ...node,
        containerRuntimeEndpoint: containerRuntimeEndpoint || undefined,
        registryPort: options.registryPort,
        ...(options.kubelet && { kubelet: options.kubelet }),
      });
  }

  start(): Promise<void> {
    const started = this.#startParts(this.#lifetime.signal);
    this.#started = started.then(
      () => undefined,
      () => undefined,
    ); // The caller gets the error.
    return started;
  }

  async #startParts(signal: AbortSignal): Promise<void> {
    const { instance, options, kubeletPort } = this.#config;
    await this.#node?.readFiles();
    const read = await this.#server.readFiles(this.#node?.plainPorts() ?? []);
    await makeInstanceDirectories(this.#platform.files, instance, this.#platform.log);
    // containerd takes as long to start as the control plane, and the network needs neither: all start at once.
    this.#node?.prepare(signal);
    if (this.#node === undefined) await kubeletPort.release();
    const preparing = this.#prepareNodes();
    preparing.catch(() => undefined); // Awaited below.
    const { controlPlane, pki } = await this.#server.start(read, signal);
    const server = localServerUrl(options, instance.httpsPort);
    const connection = createLocalConnection(this.#platform, { controlPlane, pki, instance, server });
    await Promise.all([
      this.#node?.join(connection, signal),
      preparing.then((nodes) => nodes && this.#startNodes(nodes, controlPlane, signal)),
    ]);
    await whenPodsAreTaken({ objects: controlPlane.server.objects, clock: this.#platform.clock }, signal);
  }

  /** Nothing of it is loaded where there are no further nodes, and were none. */
  async #prepareNodes(): Promise<NamespaceNodes | undefined> {
    const { instance, options } = this.#config;
    const { machineNodes: nodes, nodeIp } = options;
    if (nodes === undefined) return undefined;
    if (nodes.count === 1 && !(await this.#platform.files.exists(`${instance.dataDir}/nodes.json`))) return undefined;
    const interfaces = this.#platform.net.interfaces();
    const [hostAddress = ''] = nodeAddresses(interfaces, { nodeIp, clusterCidr: instance.clusterCidr });
    const server = `https://${advertisedAddress(options, interfaces)}:${instance.httpsPort}`;
    const { NamespaceNodes: Further } = await import('./nodes/namespace-nodes.ts');
    this.#nodes = new Further(this.#platform, { instance, options: nodes, hostAddress, server });
    await this.#nodes.prepare();
    return this.#nodes;
  }

  async #startNodes(nodes: NamespaceNodes, controlPlane: ControlPlane, signal: AbortSignal): Promise<void> {
    const late = await nodes.start(controlPlane, signal);
    if (late === undefined) return;
    const step = late.length === 0 ? 'further nodes Ready' : `further nodes: not Ready yet: ${late.join(', ')}`;
    await this.#config.progress.phase(step, () => undefined);
  }

  async stop(): Promise<void> {
    this.#lifetime.abort(new Error('keelson is stopping'));
    await this.#started; // A start that is cut short ends at its next step: nothing is opened behind the back of a stop.
    await Promise.all([this.#nodes?.stop(), this.#node?.stop()]);
    await this.#server.stop();
  }

  async backup(file: string): Promise<void> {
    await this.#server.backup(file);
  }

  announce(reason: 'KeelsonRestarted', message: string): void {
    this.#node?.announce(reason, message);
  }

  async actOnNode(action: NodeAction, name: string): Promise<string> {
    if (this.#nodes === undefined && this.#config.options.machineNodes !== undefined && !this.#server.ready())
      throw new PreflightError('the cluster is starting; try again when it runs');
    if (this.#nodes === undefined)
      throw new PreflightError('this cluster has no further nodes on this machine (keelson up --nodes 3)');
    return this.#nodes.act(action, name);
  }

  underWay(): readonly string[] {
    return this.#server.underWay();
  }

  releaseMemory(): void {
    this.#server.releaseMemory();
  }

  async status(): Promise<InstanceStatus> {
    const { instance, options } = this.#config;
    const ready = this.#server.ready();
    return {
      phase: ready ? 'running' : 'starting',
      pid: process.pid,
      version: VERSION,
      kubernetesVersion: KUBERNETES_VERSION,
      uptimeSeconds: (this.#platform.clock.monotonicMs() - this.#startedMs) / 1000,
      ...processMemory(),
      server: localServerUrl(options, instance.httpsPort),
      kubeconfig: instance.adminKubeconfig,
      containerdSocket: options.containerRuntimeEndpoint ?? `unix://${instance.containerd.socket}`,
      clusterCidr: instance.clusterCidr,
      serviceCidr: instance.serviceCidr,
      clusterDomain: instance.clusterDomain,
      components: [
        { name: 'apiserver', healthy: ready, message: ready ? '' : 'not ready' },
        ...this.#server.components(),
        ...(this.#node?.status() ?? []),
      ],
      machineNodes: await this.#nodes?.status(),
      ...(await this.#server.status()),
    };
  }
}
