/**
 * A whole cluster on one machine: control plane and one node in this process, containerd and DNS beside it. Started in
 * declared order, stopped in reverse. Stopping leaves pods, containerd and DNS running: `take-down.ts` ends them.
 */
import { Nodes, Pods } from '../api/gen/resources.ts';
import { createCriClient, type CriClient } from '../cri/cri-client.ts';
import { ensureClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import type { Platform } from '../platform/platform.ts';
import type { Store } from '../storage/store.ts';
import { KUBERNETES_VERSION, VERSION } from '../base/version.ts';
import type { ClusterOptions } from './cluster-options.ts';
import type { ClusterStatus } from './cluster-status.ts';
import { createInstanceContainerd } from './containerd.ts';
import { createControlPlane, type ControlPlane } from './control-plane.ts';
import { hostAddress, servingNames } from './host-address.ts';
import type { Instance } from './instance.ts';
import { kubeconfigYaml } from './kubeconfig.ts';
import { createPodNetwork, kubernetesServiceAddress, type PodNetwork } from './network/pod-network.ts';
import { createClusterNode, instanceNodeConfig, nodePrincipal, type ClusterNode } from './node.ts';
import type { PortReservation } from './port-reservation.ts';
import type { Progress } from './progress.ts';
import { openStore } from './open-store.ts';
import { startNodeServices, type NodeServices } from './node-services.ts';

/** How the cluster is set up, settled. */
export interface ClusterConfig {
  readonly instance: Instance;
  readonly options: ClusterOptions;
  readonly cniBinDirs: readonly string[];
  readonly kubeletPort: PortReservation;
  readonly progress: Progress;
}

/** A cluster. */
export interface Cluster {
  /** Resolves when the node is Ready. */
  start(): Promise<void>;
  /** Ends this process's part. Pods keep running. */
  stop(): Promise<void>;
  /** Rejects when a part fails for good after the start. */
  readonly failed: Promise<never>;
  status(): Promise<ClusterStatus>;
}

/** Creates the cluster; nothing runs before `start`. */
export function createCluster(platform: Platform, config: ClusterConfig): Cluster {
  return new RunningCluster(platform, config);
}

/** Both results, or a rejection once neither works any longer: whoever cleans up then finds all there is. */
async function bothOrNeither<A, B>(work: readonly [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}

const NODE_READY_TIMEOUT_MS = 120_000;

class RunningCluster implements Cluster {
  readonly failed: Promise<never>;
  readonly #platform: Platform;
  readonly #config: ClusterConfig;
  readonly #lifetime = new AbortController();
  readonly #startedMs: number;
  #fail: (error: unknown) => void = () => undefined;
  #store: Store | undefined;
  #controlPlane: ControlPlane | undefined;
  #controllersEnd: Promise<void> = Promise.resolve();
  #runtimeStarted: Promise<void> = Promise.resolve();
  #started: Promise<void> = Promise.resolve();
  #node: ClusterNode | undefined;
  #nodeServices: NodeServices | undefined;

  constructor(platform: Platform, config: ClusterConfig) {
    this.#platform = platform;
    this.#config = config;
    this.#startedMs = platform.clock.monotonicMs();
    this.failed = new Promise<never>((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined); // Whoever waits hears of it; nobody waiting is no crash.
  }

  start(): Promise<void> {
    const started = this.#startParts(this.#lifetime.signal);
    this.#started = started.then(
      () => undefined,
      () => undefined,
    ); // Whoever called hears of the failure.
    return started;
  }

  async #startParts(signal: AbortSignal): Promise<void> {
    const { progress } = this.#config;
    await this.#makeDirectories();
    // containerd takes as long to start as the control plane, and the network's programs wait for nobody: all at once.
    const { network, up } = this.#startNetwork();
    const runtime = progress.phase('container runtime', () => this.#startRuntime(signal));
    this.#runtimeStarted = runtime.then(
      () => undefined,
      () => undefined,
    ); // Its failure is awaited below.
    const controlPlane = await this.#startControlPlane(signal);
    signal.throwIfAborted();
    const running = Promise.all([controlPlane.runControllers(signal), controlPlane.startScheduler(signal)]);
    this.#controllersEnd = running.then(
      () => undefined,
      (error: unknown) => {
        if (!signal.aborted) this.#fail(error);
      },
    );
    await this.#startNode({ controlPlane, cri: await runtime, network: await up.then(() => network) }, signal);
    await progress.phase('node Ready', () => this.#nodeReady(controlPlane, signal));
  }

  async stop(): Promise<void> {
    this.#lifetime.abort(new Error('keelson is stopping'));
    await this.#started; // A start that is cut short ends at its next step: nothing is opened behind the back of a stop.
    await this.#nodeServices?.stop();
    await this.#node?.stop();
    await this.#controllersEnd;
    await this.#controlPlane?.stop();
    await this.#store?.close();
    await this.#runtimeStarted;
  }

  async #makeDirectories(): Promise<void> {
    const { instance } = this.#config;
    const { files } = this.#platform;
    for (const dir of [
      instance.logDir,
      instance.runDir,
      instance.kubeletRoot,
      instance.podLogsRoot,
      `${instance.dataDir}/manifests`,
    ])
      await files.makeDir(dir, { mode: 0o750 });
  }

  async #startControlPlane(signal: AbortSignal): Promise<ControlPlane> {
    const platform = this.#platform;
    const { instance, options, progress } = this.#config;
    const address = hostAddress(platform.net.interfaces());
    // Both wait for the disk, and the first certificates are a lot of work: at once.
    const opening = progress
      .phase('store', () => openStore(platform, { kind: options.store, file: instance.storeFile }))
      .then((store) => (this.#store = store));
    const [store, pki] = await bothOrNeither([
      opening,
      progress.phase('certificates', () =>
        ensureClusterPki(
          platform.files,
          { crypto: platform.crypto, random: platform.random, nowMs: () => platform.clock.nowMs() },
          {
            dir: instance.pkiDir,
            names: servingNames(instance, [address, '127.0.0.1', kubernetesServiceAddress(instance.serviceCidr)]),
          },
        ),
      ),
    ]);
    const controlPlane = createControlPlane({
      platform,
      store,
      pki,
      instance,
      hostAddress: address,
      runtimeConfig: options.runtimeConfig,
    });
    this.#controlPlane = controlPlane;
    await progress.phase('API server', async () => {
      await controlPlane.start(signal);
      await controlPlane.serve({
        host: '0.0.0.0',
        port: instance.httpsPort,
        tls: { ...pki.apiServer, clientCaPem: pki.ca.certPem },
      });
    });
    const server = `https://127.0.0.1:${instance.httpsPort}`;
    await platform.files.writeFileAtomic(
      instance.adminKubeconfig,
      kubeconfigYaml({ server, caPem: pki.ca.certPem, ...pki.admin, user: 'admin', cluster: 'keelson' }),
      { mode: 0o600 },
    );
    this.#nodeServices = startNodeServices(
      { platform, controlPlane, pki, instance, kubeletPort: this.#config.kubeletPort.port },
      signal,
    );
    return controlPlane;
  }

  async #startRuntime(signal: AbortSignal): Promise<CriClient> {
    const { instance, options, cniBinDirs } = this.#config;
    if (options.containerRuntimeEndpoint !== undefined)
      return createCriClient({ clock: this.#platform.clock }, { endpoint: options.containerRuntimeEndpoint });
    const supervisor = createInstanceContainerd(this.#platform, instance, cniBinDirs);
    await supervisor.start(signal);
    return supervisor.client;
  }

  #startNetwork(): { readonly network: PodNetwork; readonly up: Promise<void> } {
    const network = createPodNetwork(this.#platform, this.#config.instance);
    const up = network.start();
    up.catch(() => undefined); // Awaited before the node starts.
    return { network, up };
  }

  async #startNode(
    {
      controlPlane,
      cri,
      network,
    }: { readonly controlPlane: ControlPlane; readonly cri: CriClient; readonly network: PodNetwork },
    signal: AbortSignal,
  ): Promise<void> {
    const platform = this.#platform;
    const { instance, kubeletPort } = this.#config;
    const node = await createClusterNode({
      platform,
      client: controlPlane.clientFor(nodePrincipal(instance.nodeName), 'kubelet'),
      cri,
      network,
      config: instanceNodeConfig(instance, kubeletPort.port),
    });
    this.#node = node;
    signal.throwIfAborted();
    await node.start(signal);
    await kubeletPort.release();
    signal.throwIfAborted();
    await this.#nodeServices?.serveKubelet(node);
  }

  async #nodeReady(controlPlane: ControlPlane, signal: AbortSignal): Promise<void> {
    const { instance } = this.#config;
    const { clock } = this.#platform;
    const deadlineMs = clock.monotonicMs() + NODE_READY_TIMEOUT_MS;
    for (;;) {
      const node = controlPlane.server.objects.get(Nodes, '', instance.nodeName);
      const ready = node?.status?.conditions?.find((c) => c.type === 'Ready');
      const tainted = node?.spec?.taints?.some((t) => t.key === 'node.kubernetes.io/not-ready') === true;
      if (ready?.status === 'True' && !tainted) return;
      if (clock.monotonicMs() > deadlineMs)
        throw new Error(
          `the node is not Ready after ${NODE_READY_TIMEOUT_MS / 1000} s: ${ready?.message ?? 'it has not registered'}`,
        );
      await clock.sleep(5, signal);
    }
  }

  async status(): Promise<ClusterStatus> {
    const { instance } = this.#config;
    const objects = this.#controlPlane?.server.objects;
    const pods = objects?.list(Pods) ?? [];
    const phases = Map.groupBy(pods, (pod) => pod.status?.phase ?? 'Pending');
    return {
      phase: this.#controlPlane?.server.ready() === true ? 'running' : 'starting',
      pid: process.pid,
      version: VERSION,
      kubernetesVersion: KUBERNETES_VERSION,
      uptimeSeconds: (this.#platform.clock.monotonicMs() - this.#startedMs) / 1000,
      memoryBytes: process.memoryUsage.rss(),
      server: `https://127.0.0.1:${instance.httpsPort}`,
      kubeconfig: instance.adminKubeconfig,
      containerdSocket: this.#config.options.containerRuntimeEndpoint ?? `unix://${instance.containerd.socket}`,
      clusterCidr: instance.clusterCidr,
      serviceCidr: instance.serviceCidr,
      clusterDomain: instance.clusterDomain,
      components: this.#components(),
      nodes: (objects?.list(Nodes) ?? []).map((node) => {
        const ready = node.status?.conditions?.find((c) => c.type === 'Ready');
        return {
          name: node.metadata.name ?? '',
          ready: ready?.status === 'True',
          message: ready?.message ?? '',
          kubeletVersion: node.status?.nodeInfo?.kubeletVersion ?? '',
          runtime: node.status?.nodeInfo?.containerRuntimeVersion ?? '',
        };
      }),
      podsByPhase: Object.fromEntries([...phases].map(([phase, list]) => [phase, list.length])),
      store: (await this.#store?.status()) ?? {
        kind: 'none',
        revision: 0,
        compactedRevision: 0,
        sizeBytes: 0,
        keyCount: 0,
      },
    };
  }

  #components(): ClusterStatus['components'] {
    const kubelet = this.#node?.kubelet.host.healthProblems() ?? ['not started'];
    const server = this.#controlPlane?.server.ready() === true;
    return [
      { name: 'apiserver', healthy: server, message: server ? '' : 'not ready' },
      { name: 'kubelet', healthy: kubelet.length === 0, message: kubelet.join('; ') },
      ...(this.#nodeServices?.status() ?? []),
    ];
  }
}
