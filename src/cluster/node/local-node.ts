/**
 * The node on this machine: container runtime, pod network, kubelet, service proxy and DNS. Works with a control
 * plane in the same process and with a remote one. Runtime and network start at once, before there is a connection.
 * Stopping leaves pods, containerd and DNS running.
 */
import { Nodes } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import { nodeCondition } from '../../component-helpers/nodes.ts';
import { createCriClient, type CriClient } from '../../cri/cri-client.ts';
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ProxyMode } from '../../proxy/proxy-config.ts';
import type { ComponentStatus } from '../cluster-status.ts';
import { createInstanceContainerd } from './containerd.ts';
import { applyRegistries, type AppliedRegistries } from '../images/apply-registries.ts';
import { keepImageFolder } from '../images/image-folder.ts';
import type { Instance } from '../instance/instance.ts';
import { withQuietPorts } from '../network/bridge-ports.ts';
import { createPodNetwork } from '../network/pod-network.ts';
import type { RunningRegistry } from '../registry/run-registry.ts';
import type { NodeConnection } from './node-connection.ts';
import type { NodeServices } from './node-services.ts';
import type { StopParts } from '../stop-parts.ts';
import type { KubeletSettings } from './instance-kubelet.ts';
import type { ClusterNode } from './node.ts';
import type { PortReservation } from '../instance/port-reservation.ts';
import type { Progress } from '../progress.ts';

/** The settled choices for the node. */
export interface LocalNodeConfig {
  readonly instance: Instance;
  readonly containerRuntimeEndpoint?: string;
  /** The user's kubelet settings. */
  readonly kubelet?: KubeletSettings;
  readonly cniBinDirs: readonly string[];
  readonly kubeletPort: PortReservation;
  readonly nodeIps: readonly string[];
  readonly proxyMode: ProxyMode;
  readonly nodePortAddresses: readonly string[];
  readonly dnsStubDomains: readonly string[];
  /** The loopback port of the registry; undefined: no registry. */
  readonly registryPort?: number | undefined;
  readonly progress: Progress;
}

export interface LocalNode {
  /** Reads the kubelet settings and checks the registry's port without starting anything. @throws PreflightError */
  readFiles(): Promise<void>;
  /** The ports of the kubelet's plain HTTP servers, known after `readFiles`. */
  plainPorts(): readonly number[];
  /** Starts what needs no control plane. Its failures are reported by `join`. */
  prepare(signal: AbortSignal): void;
  /** Starts the rest. Resolves when the node is Ready, or when only the user's own pod network is missing. */
  join(connection: NodeConnection, signal: AbortSignal): Promise<void>;
  status(): readonly ComponentStatus[];
  /** Records a warning event of the node after it has joined. */
  announce(reason: 'KeelsonRestarted', message: string): void;
  /** Ends this process's part after the signal's abort, as steps of a shutdown. */
  stop(parts: StopParts): Promise<void>;
}

const NODE_READY_TIMEOUT_MS = 120_000;
const READY_POLL_MS = 20;

/** Starts nothing before `prepare`. `readFiles` comes first. */
export function createLocalNode(platform: Platform, config: LocalNodeConfig): LocalNode {
  return new Machine(platform, config);
}

class Machine implements LocalNode {
  readonly #platform: Platform;
  readonly #config: LocalNodeConfig;
  readonly #network: ReturnType<typeof createPodNetwork>;
  #registries: Promise<AppliedRegistries> | undefined;
  #runtime: Promise<CriClient> | undefined;
  #networkUp: Promise<void> | undefined;
  #node: ClusterNode | undefined;
  #services: NodeServices | undefined;
  #serving: Promise<void> = Promise.resolve();
  #registry: Promise<RunningRegistry | undefined> | undefined;
  #isRegistryOpen = false;
  /** The kubelet configuration; undefined without settings of the user's. */
  #document: KubeletConfigurationV1Beta1 | undefined;

  constructor(platform: Platform, config: LocalNodeConfig) {
    this.#platform = platform;
    this.#config = config;
    this.#network = createPodNetwork(platform, config.instance);
  }

  async readFiles(): Promise<void> {
    this.#document = await this.#loadDocument();
    const { registryPort } = this.#config;
    if (registryPort === undefined) return;
    await (await import('../registry/run-registry.ts')).checkRegistryPort(this.#platform, registryPort);
  }

  plainPorts(): readonly number[] {
    const { readOnlyPort = 0, healthzPort = 0 } = this.#document ?? {};
    return [readOnlyPort, healthzPort].filter((port) => port > 0);
  }

  prepare(signal: AbortSignal): void {
    this.#networkUp = this.#network.start();
    const registries = this.#applyRegistries();
    this.#registries = registries;
    this.#runtime = this.#config.progress.phase('container runtime', () => this.#startRuntime(registries, signal));
    this.#registry = this.#startRegistry(signal);
    // Awaited in `join`.
    for (const started of [this.#networkUp, registries, this.#runtime, this.#registry]) started.catch(() => undefined);
  }

  async join(connection: NodeConnection, signal: AbortSignal): Promise<void> {
    const { instance, kubeletPort, nodeIps, progress } = this.#config;
    const platform = this.#platform;
    const [port, nodeIp] = [kubeletPort.port, nodeIps[0] ?? ''];
    const { startNodeServices } = await import('./node-services.ts');
    // Pods get no host port that the proxy of mirrors has.
    const mirrorPort = (await this.#registries)?.proxy?.port;
    this.#services = startNodeServices(
      {
        ...this.#config,
        platform,
        connection,
        kubeletPort: port,
        nodeIp,
        mirrorPort,
        network: this.#network,
        registry: this.#registry,
        kubeletDocument: this.#document,
      },
      signal,
    );
    const cri = await this.#runtime;
    await this.#networkUp;
    await this.#registry;
    if (cri === undefined) throw new Error('join comes after prepare');
    await this.#keepImageFolder(signal);
    const node = await this.#createNode(connection, cri);
    this.#node = node;
    signal.throwIfAborted();
    await node.start(signal);
    await kubeletPort.release();
    signal.throwIfAborted();
    // A remote control plane issues the certificate after the node has registered, so neither step waits for the
    // other.
    const serving = this.#services.serveKubelet(node);
    this.#serving = serving.then(
      () => undefined,
      (error: unknown) => {
        if (!signal.aborted) platform.log.error('the kubelet’s server is not open', { err: error });
      },
    );
    const ownNetwork = instance.cni !== 'none';
    await progress.phase(ownNetwork ? 'node Ready' : 'node registered', () => this.#ready(connection, signal));
    await serving;
  }

  async stop(parts: StopParts): Promise<void> {
    await parts.wait("the kubelet's server", this.#serving);
    await parts.wait('service proxy, DNS and pod network', this.#services?.stop());
    await parts.wait('kubelet', this.#node?.stop());
    const ended = (start: Promise<unknown> | undefined) => start?.catch(() => undefined);
    await parts.wait('the start of the container runtime', ended(this.#runtime));
    await parts.wait('the proxy of mirrors', ended(this.#registries?.then(({ proxy }) => proxy?.close())));
    await parts.wait('registry', ended(this.#registry?.then((registry) => registry?.close())));
  }

  announce(reason: 'KeelsonRestarted', message: string): void {
    this.#node?.announce(reason, message);
  }

  status(): readonly ComponentStatus[] {
    const problems = this.#node?.kubelet.host.healthProblems() ?? ['not started'];
    return [
      { name: 'kubelet', healthy: problems.length === 0, message: problems.join('; ') },
      ...(this.#services?.status() ?? []),
      ...(this.#isRegistryOpen ? [{ name: 'registry', healthy: true, message: '' }] : []),
    ];
  }

  async #loadDocument(): Promise<KubeletConfigurationV1Beta1 | undefined> {
    const { instance, kubeletPort, containerRuntimeEndpoint, kubelet } = this.#config;
    if (kubelet === undefined) return undefined;
    const { loadInstanceDocument } = await import('./instance-kubelet.ts');
    const endpoint = containerRuntimeEndpoint === undefined ? {} : { containerRuntimeEndpoint };
    const endpointConfig = { instance, port: kubeletPort.port, ...endpoint };
    const document = await loadInstanceDocument(this.#platform.files, endpointConfig, kubelet);
    const { checkKubeletAddress, checkMachine } = await import('./kubelet-checks.ts');
    await checkMachine(this.#platform, document);
    checkKubeletAddress(document.address, this.#config.nodeIps);
    return document;
  }

  async #createNode(connection: NodeConnection, cri: CriClient): Promise<ClusterNode> {
    const { instance, kubeletPort, nodeIps } = this.#config;
    const { createClusterNode, instanceNodeConfig } = await import('./node.ts');
    const own = instanceNodeConfig(instance, kubeletPort.port);
    const { ports } = this.#network;
    const parts = {
      platform: this.#platform,
      client: connection.kubelet,
      cri: ports === undefined ? cri : withQuietPorts(cri, ports, this.#platform.log),
      network: this.#network,
    };
    const document = this.#document;
    if (document === undefined) return createClusterNode({ ...parts, config: { ...own, nodeIps } });
    const { settingsOf } = await import('../../kubelet/configuration/settings.ts');
    const { nodeShutdown } = await import('./node-shutdown.ts');
    const { nodeName, rootDirectory, localPathRoot } = own;
    const nodeLabels = this.#config.kubelet?.nodeLabels ?? {};
    return createClusterNode({
      ...parts,
      ...(await nodeShutdown(this.#platform, document, process.pid)),
      config: { ...settingsOf(document, { nodeName, rootDirectory, nodeIps, nodeLabels }), localPathRoot },
    });
  }

  /** Loads no code while the folder stays empty. */
  async #keepImageFolder(signal: AbortSignal): Promise<void> {
    const { instance, containerRuntimeEndpoint } = this.#config;
    const endpoint = containerRuntimeEndpoint ?? instance.containerd.socket;
    const open = async () => new (await import('../images/machine-images.ts')).MachineImages(this.#platform, endpoint);
    await keepImageFolder(this.#platform, `${instance.dataDir}/images`, open, signal);
  }

  async #startRegistry(signal: AbortSignal): Promise<RunningRegistry | undefined> {
    const { registryPort: port, instance } = this.#config;
    if (port === undefined) return undefined;
    const { startRegistry } = await import('../registry/run-registry.ts');
    const registry = await startRegistry(this.#platform, { dataDir: instance.dataDir, port }, signal);
    this.#isRegistryOpen = true;
    return registry;
  }

  /** The user's own runtime has its own registries. */
  async #applyRegistries(): Promise<AppliedRegistries> {
    const { instance, containerRuntimeEndpoint, registryPort } = this.#config;
    if (containerRuntimeEndpoint !== undefined) return { auth: {} };
    const own =
      registryPort === undefined ? {} : (await import('../registry/run-registry.ts')).registryHosts(registryPort);
    return await applyRegistries(this.#platform, instance.dataDir, own);
  }

  async #startRuntime(registries: Promise<AppliedRegistries>, signal: AbortSignal): Promise<CriClient> {
    const { instance, containerRuntimeEndpoint, cniBinDirs } = this.#config;
    if (containerRuntimeEndpoint !== undefined)
      return createCriClient({ clock: this.#platform.clock }, { endpoint: containerRuntimeEndpoint });
    const { auth } = await registries;
    const supervisor = createInstanceContainerd(this.#platform, instance, cniBinDirs, auth);
    await supervisor.start(signal);
    return supervisor.client;
  }

  async #ready(connection: NodeConnection, signal: AbortSignal): Promise<void> {
    const { clock } = this.#platform;
    const name = this.#config.instance.nodeName;
    const deadlineMs = clock.monotonicMs() + NODE_READY_TIMEOUT_MS;
    let message = 'it has not registered';
    for (;;) {
      const node = await connection.kubelet
        .resource(Nodes)
        .get({ name }, { signal })
        .catch((error: unknown) => {
          signal.throwIfAborted();
          message = errorMessage(error);
          return undefined;
        });
      const ready = nodeCondition(node, 'Ready');
      const tainted = node?.spec?.taints?.some((t) => t.key === 'node.kubernetes.io/not-ready') === true;
      if (ready?.status === 'True' && !tainted) return;
      // The user's CNI plugin usually runs as pods, which this very API creates.
      if (this.#config.instance.cni === 'none' && ready?.message?.includes('NetworkPluginNotReady') === true) return;
      message = ready?.message ?? message;
      if (clock.monotonicMs() > deadlineMs)
        throw new Error(`the node is not Ready after ${NODE_READY_TIMEOUT_MS / 1000} s: ${message}`);
      await clock.sleep(READY_POLL_MS, signal);
    }
  }
}
