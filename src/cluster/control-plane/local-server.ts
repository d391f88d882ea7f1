/**
 * The control plane of this machine: store, certificates, API server on its port, controllers, scheduler, load balancers,
 * and what machines that join look for. Started in declared order, stopped in reverse.
 */
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { createDeferred } from '../../base/deferred.ts';
import { nodeCondition } from '../../component-helpers/nodes.ts';
import { ensureClusterPki, type ClusterPki } from '../../component-helpers/pki/cluster-pki.ts';
import type { Platform } from '../../platform/platform.ts';
import type { HistoryLog } from '../../storage/history-log.ts';
import type { Store } from '../../storage/store.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import { NO_STORE, type ComponentStatus, type InstanceStatus } from '../cluster-status.ts';
import type { ApiServerSetup } from './api-server-setup.ts';
import type { ControlPlane } from './control-plane.ts';
import type { OwnEtcd } from '../etcd/own-etcd.ts';
import { defaultIssuer, servingNames } from '../instance/host-address.ts';
import type { Instance } from '../instance/instance.ts';
import type { PortReservation } from '../instance/port-reservation.ts';
import { listenAddress, localAddress, localServerUrl } from '../instance/server-addresses.ts';
import { consoleOf } from '../console/console-of.ts';
import { endFormerDataPlane, freePorts } from '../gateway/former-data-plane.ts';
import { checkRoutePorts, readMachinePorts, type MachinePorts } from '../gateway/machine-ports.ts';
import { nodePortUser } from '../gateway/route-ports.ts';
import { createGateway, type Gateway } from '../gateway/run-gateway.ts';
import { kubeconfigYaml } from '../kubeconfig.ts';
import { createServerSnapshots } from '../snapshots/server-snapshots.ts';
import type { Snapshots } from '../snapshots/run-snapshots.ts';
import { kubernetesServiceAddress } from '../network/pod-network.ts';
import { createSqliteHistory } from '../../storage/sqlite/history/sqlite-history.ts';
import { backupStore, openOwnEtcdStore, openStore } from '../store/open-store.ts';
import type { Progress } from '../progress.ts';
import type { LedComponent } from './leadership.ts';
import type { SchedulerSetup } from './scheduler-setup.ts';

/** How the control plane is set up, settled. */
export interface LocalServerConfig {
  readonly instance: Instance;
  readonly options: ClusterOptions;
  /** Under which other machines and pods reach it. */
  readonly advertiseAddress: string;
  readonly kubeletPort: number;
  /** Held for the API server, where its port was left to choose. */
  readonly apiPort: PortReservation | undefined;
  /** The state is in an etcd of this server's own. */
  readonly ownEtcd: boolean;
  readonly progress: Progress;
}

/** Its share of `keelson status`. */
type ServerStatus = Required<Pick<InstanceStatus, 'nodes' | 'podsByPhase' | 'store'>> &
  Pick<InstanceStatus, 'snapshots'>;

/** The content of the files that options name. Only `readFiles` creates it. */
interface ServerFiles {
  readonly apiServer: ApiServerSetup | undefined;
  readonly scheduler: SchedulerSetup | undefined;
  readonly machinePorts: MachinePorts;
}

export interface LocalServer {
  /**
   * Reads the files that options name: what is wrong with one is told before anything runs. The cluster's certificates are
   * made before, as some of the files may be theirs. Frees the ports that the machine needs, among them `kubeletPlainPorts`,
   * and refuses them for routes. Rejects with `PreflightError`.
   */
  readFiles(kubeletPlainPorts: readonly number[]): Promise<ServerFiles>;
  /** Resolves when the API answers and controllers and scheduler run. */
  start(
    read: ServerFiles,
    signal: AbortSignal,
  ): Promise<{ readonly controlPlane: ControlPlane; readonly pki: ClusterPki }>;
  /** Rejects when controllers or scheduler fail for good. */
  readonly failed: Promise<never>;
  ready(): boolean;
  /** What runs beside the API server. */
  components(): readonly ComponentStatus[];
  /** Its share of `keelson status`. */
  status(): Promise<ServerStatus>;
  /** Copies the store to this file while work goes on. */
  backup(file: string): Promise<void>;
  /** Verbs and paths of the requests that are being served. */
  underWay(): readonly string[];
  /** For a quiet time: gives back what it holds to be quick. */
  releaseMemory(): void;
  /** After the signal's abort. */
  stop(): Promise<void>;
}

/** The cluster's certificates, on disk; `made` resolves when only the disk is waited for, and when making them fails. */
interface Certificates {
  readonly pki: Promise<ClusterPki>;
  readonly made: Promise<void>;
}

/** Both results, or a rejection once both have ended, so that a clean-up finds everything. */
async function bothOrNeither<A, B>(work: readonly [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}

/** Creates it; nothing runs before `start`. */
export function createLocalServer(platform: Platform, config: LocalServerConfig): LocalServer {
  return new Server(platform, config);
}

class Server implements LocalServer {
  readonly failed: Promise<never>;
  readonly #platform: Platform;
  readonly #config: LocalServerConfig;
  #fail: (error: unknown) => void = () => undefined;
  #store: Store | undefined;
  #history: HistoryLog | undefined;
  #controlPlane: ControlPlane | undefined;
  #etcd: OwnEtcd | undefined;
  #gateway: Gateway | undefined;
  #snapshots: Snapshots | undefined;
  #certificates: Certificates | undefined;
  #controllersEnd: Promise<void> = Promise.resolve();

  constructor(platform: Platform, config: LocalServerConfig) {
    this.#platform = platform;
    this.#config = config;
    this.failed = new Promise<never>((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined); // The waiting caller gets the error; nobody waiting is no crash.
  }

  async readFiles(kubeletPlainPorts: readonly number[]): Promise<ServerFiles> {
    const platform = this.#platform;
    const { apiServer: options, schedulerConfigFile } = this.#config.options;
    const machinePorts = await readMachinePorts(platform.files, { ...this.#config, kubeletPlainPorts });
    checkRoutePorts(this.#config.options, machinePorts);
    await freePorts(platform, this.#config.instance, machinePorts.own);
    if (options === undefined && schedulerConfigFile === undefined)
      return { apiServer: undefined, scheduler: undefined, machinePorts };
    await this.#ensureCertificates().pki;
    const audiences = [defaultIssuer(this.#config.instance)];
    const apiServer =
      options && (await (await import('./api-server-setup.ts')).loadApiServerSetup(platform, options, audiences));
    const scheduler =
      schedulerConfigFile === undefined
        ? undefined
        : await (await import('./scheduler-setup.ts')).loadSchedulerSetup(platform, schedulerConfigFile);
    return { apiServer, scheduler, machinePorts };
  }

  async start(
    { apiServer: setup, scheduler, machinePorts }: ServerFiles,
    signal: AbortSignal,
  ): Promise<{ readonly controlPlane: ControlPlane; readonly pki: ClusterPki }> {
    const platform = this.#platform;
    const { instance, options, progress, advertiseAddress, apiPort } = this.#config;
    // Both wait for the disk and for other threads: at once, and this one loads the API server's code meanwhile.
    const opening = progress.phase('store', () => this.#openStore(signal)).then((store) => (this.#store = store));
    const certificates = this.#ensureCertificates();
    const loading = certificates.made.then(() => import('./control-plane.ts'));
    const [[store, pki], { createControlPlane }] = await bothOrNeither([
      bothOrNeither([opening, certificates.pki]),
      loading,
    ]);
    this.#history = this.#createHistory();
    const controlPlane = createControlPlane({
      platform,
      store,
      history: this.#history,
      pki,
      instance,
      hostAddress: advertiseAddress,
      runtimeConfig: options.runtimeConfig,
      setup,
      settings: options.apiServer && { ...options.apiServer.limits, serviceNodePorts: options.apiServer.nodePorts },
      scheduler,
      controllers: options.controllerManager,
      gatewayClass: options.gateway !== undefined,
      console: options.console === false ? undefined : consoleOf(platform),
      serverJoin: this.#etcd && (await this.#joinRoute()),
    });
    this.#controlPlane = controlPlane;
    await progress.phase('API server', async () => {
      await controlPlane.start(signal);
      const tls = { ...pki.apiServer, clientCaPem: pki.ca.certPem };
      await apiPort?.release();
      await controlPlane.serve({ host: listenAddress(options), port: instance.httpsPort, tls });
    });
    await this.#writeAdminKubeconfig(pki);
    signal.throwIfAborted();
    this.#controllersEnd = this.#runClients(controlPlane, { machinePorts, caPem: pki.ca.certPem }, signal).then(
      () => undefined,
      (error: unknown) => {
        if (!signal.aborted) this.#fail(error);
      },
    );
    return { controlPlane, pki };
  }

  /** Controllers, scheduler and load balancers, whose code is loaded once the API server answers. */
  async #runClients(
    controlPlane: ControlPlane,
    { machinePorts, caPem }: { readonly machinePorts: MachinePorts; readonly caPem: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { instance, options } = this.#config;
    const { runLoadBalancers } = await import('./load-balancers.ts');
    const { runAddons } = await import('../addons/run-addons.ts');
    const { runHelm } = await import('../helm/run-helm.ts');
    const { ledComponents } = await import('./leadership.ts');
    const lead = await this.#leading(controlPlane);
    signal.throwIfAborted();
    const deps = { platform: this.#platform, controlPlane };
    this.#gateway = this.#createGateway(controlPlane, machinePorts);
    const ports = this.#gateway && options.gateway;
    if (this.#gateway === undefined) await endFormerDataPlane(this.#platform, instance);
    this.#snapshots = await createServerSnapshots({ ...deps, store: this.#store }, this.#config);
    const addons = { folder: `${instance.dataDir}/manifests`, server: instance.nodeName };
    await Promise.all([
      ...ledComponents(controlPlane).map((component) => lead(component, signal)),
      runAddons(deps, addons, signal),
      runHelm({ ...deps, lead }, { instance, options, caPem }, signal),
      this.#gateway?.run(signal),
      this.#snapshots?.run(signal),
      runLoadBalancers(deps, () => nodePortUser(controlPlane.server.objects, { machinePorts, ports }), signal),
    ]);
  }

  /** What only one of several servers over a store does. */
  async #leading(controlPlane: ControlPlane): Promise<(component: LedComponent, signal: AbortSignal) => Promise<void>> {
    const { runLed } = await import('./leadership.ts');
    const platform = this.#platform;
    const { advertiseAddress, instance } = this.#config;
    const deps = {
      platform,
      clientFor: controlPlane.clientFor,
      shared: this.#store?.latestRevision !== undefined,
      // The same after a restart, which then need not wait for a lease of its own to run out: the instance's lock sees to
      // it that there is one process at a time.
      identity: `${instance.nodeName}_${advertiseAddress}:${instance.httpsPort}_${instance.hash}`,
    };
    return (component, signal) => runLed(deps, component, signal);
  }

  async #openStore(signal: AbortSignal): Promise<Store> {
    const { store: choice, encryptionConfigFile: file } = this.#config.options;
    const encryption = file === undefined ? {} : { encryption: { file, reload: true } };
    const { dataDir, pkiDir, logDir, storeFile } = this.#config.instance;
    if (!this.#config.ownEtcd) return openStore(this.#platform, { choice, file: storeFile, ...encryption });
    const { createOwnEtcd } = await import('../etcd/own-etcd.ts');
    const etcd = createOwnEtcd(this.#platform, { dataDir, pkiDir, logDir });
    this.#etcd = etcd;
    const own = { ...(await etcd.start(signal)), followEndpoints: etcd.followEndpoints.bind(etcd) };
    return openOwnEtcdStore(this.#platform, { own, ...encryption }, signal);
  }

  /** Nothing is opened yet. */
  #createHistory(): HistoryLog | undefined {
    const { instance, options } = this.#config;
    if (options.history === undefined) return undefined;
    const { clock, log } = this.#platform;
    return createSqliteHistory({ path: instance.historyFile, limits: options.history, clock, log });
  }

  async #joinRoute(): Promise<NonResourceRoute> {
    const { serverJoinRoute } = await import('../join/server-material.ts');
    const { instance, options } = this.#config;
    return serverJoinRoute(this.#platform, { ...instance, encrypted: options.encryptionConfigFile !== undefined });
  }

  /** Routes are served by nodes: a server without one serves none. */
  #createGateway(controlPlane: ControlPlane, machinePorts: MachinePorts): Gateway | undefined {
    const { instance, options } = this.#config;
    if (options.gateway === undefined || options.disableAgent === true) return undefined;
    return createGateway(
      { platform: this.#platform, controlPlane },
      { instance, ports: options.gateway, machinePorts },
    );
  }

  components(): readonly ComponentStatus[] {
    const gateway = this.#gateway?.status() ?? [];
    if (this.#etcd === undefined) return gateway;
    const healthy = this.#etcd.running();
    return [
      ...gateway,
      { name: 'etcd', healthy, message: healthy ? '' : `not running; see ${this.#config.instance.logDir}/etcd.log` },
    ];
  }

  async backup(file: string): Promise<void> {
    await backupStore(this.#store, file);
  }

  underWay(): readonly string[] {
    return this.#controlPlane?.server.underWay() ?? [];
  }

  releaseMemory(): void {
    this.#controlPlane?.server.releaseMemory();
  }

  /** For whoever comes first; the same for all others. */
  #ensureCertificates(): Certificates {
    if (this.#certificates !== undefined) return this.#certificates;
    const made = createDeferred<void>();
    const pki = this.#config.progress.phase('certificates', () => this.#makeCertificates(made.resolve));
    return (this.#certificates = { pki: pki.finally(made.resolve), made: made.promise });
  }

  #makeCertificates(onMade: () => void): Promise<ClusterPki> {
    const { files, crypto, random, clock } = this.#platform;
    const { instance, options, advertiseAddress } = this.#config;
    const { dnsNames, ipAddresses } = options.tlsNames ?? { dnsNames: [], ipAddresses: [] };
    const names = servingNames(instance, [
      advertiseAddress,
      '127.0.0.1',
      localAddress(options),
      kubernetesServiceAddress(instance.serviceCidr),
      ...ipAddresses,
    ]);
    return ensureClusterPki(
      files,
      { crypto, random, nowMs: () => clock.nowMs() },
      { dir: instance.pkiDir, names: { ...names, dnsNames: [...names.dnsNames, ...dnsNames] }, onMade },
    );
  }

  #writeAdminKubeconfig({ ca, admin }: ClusterPki): Promise<void> {
    const { instance, options } = this.#config;
    const server = localServerUrl(options, instance.httpsPort);
    return this.#platform.files.writeFileAtomic(
      instance.adminKubeconfig,
      kubeconfigYaml({ server, caPem: ca.certPem, ...admin, user: options.name, cluster: options.name }),
      { mode: 0o600 },
    );
  }

  ready(): boolean {
    return this.#controlPlane?.server.ready() === true;
  }

  async status(): Promise<ServerStatus> {
    const objects = this.#controlPlane?.server.objects;
    const phases = Map.groupBy(objects?.list(Pods) ?? [], (pod) => pod.status?.phase ?? 'Pending');
    return {
      nodes: (objects?.list(Nodes) ?? []).map((node) => {
        const ready = nodeCondition(node, 'Ready');
        return {
          name: node.metadata.name,
          ready: ready?.status === 'True',
          message: ready?.message ?? '',
          kubeletVersion: node.status?.nodeInfo?.kubeletVersion ?? '',
          runtime: node.status?.nodeInfo?.containerRuntimeVersion ?? '',
        };
      }),
      podsByPhase: Object.fromEntries([...phases].map(([phase, list]) => [phase, list.length])),
      store: (await this.#store?.status()) ?? NO_STORE,
      snapshots: await this.#snapshots?.status(),
    };
  }

  async stop(): Promise<void> {
    await this.#controllersEnd;
    await this.#controlPlane?.stop();
    await this.#history?.close();
    await this.#store?.close();
  }
}
