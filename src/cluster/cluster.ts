/**
 * A cluster's server in one process: the control plane and, unless disabled, this machine's node with containerd and
 * DNS. Parts start in the declared order and stop in reverse. Stopping leaves pods, containerd and DNS running:
 * `take-down.ts` ends them. `keelson up` and `keelson server` use this.
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
import { StopParts } from './stop-parts.ts';
import { createLocalNode, type LocalNode } from './node/local-node.ts';
import type { ControlPlane } from './control-plane/control-plane.ts';
import { createLocalServer } from './control-plane/local-server.ts';
import { type LocalServer } from './control-plane/local-server-contract.ts';
import { createLocalConnection } from './node/node-connection.ts';
import type { PortReservation } from './instance/port-reservation.ts';
import type { NamespaceNodes } from './nodes/namespace-nodes.ts';
import type { NodeAction } from './nodes/node-actions.ts';
import type { MoveContext, MoveReport } from './store/move/move-store.ts';
import type { StoreChoice } from './store/store-options.ts';
import { PreflightError } from './preflight-error.ts';
import type { Progress } from './progress.ts';

/** The checked and completed settings of the cluster. */
export interface ClusterConfig {
  readonly instance: Instance;
  readonly options: ClusterOptions;
  readonly cniBinDirs: readonly string[];
  readonly kubeletPort: PortReservation;
  /** Holds the API server's port if it was chosen automatically. */
  readonly apiPort: PortReservation | undefined;
  /** The server runs its own etcd. */
  readonly ownEtcd: boolean;
  readonly progress: Progress;
}

export interface Cluster {
  /** Resolves when the node is Ready; without a node, when the control plane runs. */
  start(): Promise<void>;
  /** Ends this process's parts. Pods keep running. */
  stop(): Promise<void>;
  /** Rejects when a part fails permanently after the start. */
  readonly failed: Promise<never>;
  status(): Promise<InstanceStatus>;
  /** Copies the store to this file while the cluster runs. */
  backup(file: string): Promise<void>;
  /**
   * Applies a user's action to a further node of this machine; resolves to a line for the user. Rejects with
   * `PreflightError`.
   */
  actOnNode(action: NodeAction, name: string): Promise<string>;
  /** Moves the state to another store. Rejects with `PreflightError`; the old store is then still in use. */
  moveStore(to: StoreChoice, context: MoveContext): Promise<MoveReport>;
  /** Records a warning event on this machine's node, if it has one. */
  announce(reason: 'KeelsonRestarted', message: string): void;
  /** Verbs and paths of the requests in progress. */
  underWay(): readonly string[];
  /** Frees caches; called while the cluster is idle. */
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
  /** Set once they are prepared; undefined without further nodes. */
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
    ); // the caller gets the error
    return started;
  }

  async #startParts(signal: AbortSignal): Promise<void> {
    const { instance, options, kubeletPort } = this.#config;
    await this.#node?.readFiles();
    const read = await this.#server.readFiles(this.#node?.plainPorts() ?? []);
    await makeInstanceDirectories(this.#platform.files, instance, this.#platform.log);
    // containerd takes as long to start as the control plane, and the network depends on neither: all start in
    // parallel.
    this.#node?.prepare(signal);
    if (this.#node === undefined) await kubeletPort.release();
    const preparing = this.#prepareNodes();
    preparing.catch(() => undefined); // awaited below
    const { controlPlane, pki } = await this.#server.start(read, signal);
    const server = localServerUrl(options, instance.httpsPort);
    const connection = createLocalConnection(this.#platform, { controlPlane, pki, instance, server });
    await Promise.all([
      this.#node?.join(connection, signal),
      preparing.then((nodes) => nodes && this.#startNodes(nodes, controlPlane, signal)),
    ]);
    await this.#server.providedKinds(signal);
    await whenPodsAreTaken({ objects: controlPlane.server.objects, clock: this.#platform.clock }, signal);
  }

  /** Loads their code only if there are further nodes, or were. */
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
    const parts = new StopParts(this.#platform);
    // A cancelled start ends at its next step: nothing may be opened after the stop.
    await parts.wait('the start', this.#started);
    await Promise.all([parts.wait('further nodes', this.#nodes?.stop()), this.#node?.stop(parts)]);
    await this.#server.stop(parts);
  }

  async backup(file: string): Promise<void> {
    await this.#server.backup(file);
  }

  moveStore(to: StoreChoice, context: MoveContext): Promise<MoveReport> {
    return this.#server.moveStore(to, context);
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
