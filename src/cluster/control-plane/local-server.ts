/**
 * The control plane of this machine: store, certificates, API server on its port, controllers, scheduler, load
 * balancers, and the material for joining machines. Parts start in the declared order and stop in reverse.
 */
import type { StopParts } from '../stop-parts.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import type { ClusterPki } from '../../component-helpers/pki/cluster-pki.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import type { HistoryLog } from '../../storage/history-log.ts';
import type { Store } from '../../storage/store.ts';
import { NO_STORE, type ComponentStatus } from '../cluster-status.ts';
import type { ControlPlane } from './control-plane.ts';
import type { OwnEtcd } from '../etcd/own-etcd.ts';
import { defaultIssuer } from '../instance/host-address.ts';
import { listenAddress } from '../instance/server-addresses.ts';
import { controllerSettings, serverSettings } from './option-settings.ts';
import { consoleOf } from '../console/console-of.ts';
import { freePorts } from '../gateway/former-data-plane.ts';
import { NO_ROUTES } from '../gateway/nodes/protocol.ts';
import { RouteFeed } from '../gateway/nodes/route-feed.ts';
import { checkRoutePorts, readMachinePorts } from '../gateway/machine-ports.ts';
import { createSqliteHistory } from '../../storage/sqlite/history/sqlite-history.ts';
import { backupStore, openOwnEtcdStore, openStore } from '../store/open-store.ts';
import { createPausableStore, type PausableStore } from '../../storage/pausable-store.ts';
import type { StoreChoice } from '../store/store-options.ts';
import type { MoveContext, MoveReport } from '../store/move/move-store.ts';
import { PreflightError } from '../preflight-error.ts';
import { nodesAndPods } from './nodes-and-pods.ts';
import { ServerCertificates } from './server-certificates.ts';
import { ServerClients } from './server-clients.ts';
import type { LocalServerConfig, ServerStatus, ServerFiles, LocalServer } from './local-server-contract.ts';

/** Both results, or a rejection after both have ended, so that cleanup finds everything. */
async function bothOrNeither<A, B>(work: readonly [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}

/** Creates it; nothing runs before `start`. */
export function createLocalServer(platform: Platform, config: LocalServerConfig): LocalServer {
  return new Server(platform, config);
}

/** How long the parts that write to the store may take to stop before the store is closed. */
const STORE_PATIENCE_MS = 8_000;
const KINDS_PATIENCE_MS = 10_000;

class Server implements LocalServer {
  readonly failed: Promise<never>;
  readonly #platform: Platform;
  readonly #config: LocalServerConfig;
  #fail: (error: unknown) => void = () => undefined;
  #store: Store | undefined;
  /** The store behind its encryption, and the valve that holds writes to it. Undefined for the server's own etcd. */
  #plain: { readonly inner: Store; readonly pausable: PausableStore } | undefined;
  #history: HistoryLog | undefined;
  #controlPlane: ControlPlane | undefined;
  #etcd: OwnEtcd | undefined;
  #clients: ServerClients | undefined;
  #providedKinds: Promise<unknown> | undefined;
  readonly #feed: RouteFeed;
  readonly #certificates: ServerCertificates;
  #controllersEnd: Promise<void> = Promise.resolve();

  constructor(platform: Platform, config: LocalServerConfig) {
    this.#platform = platform;
    this.#config = config;
    this.#certificates = new ServerCertificates(platform, config);
    this.#feed = new RouteFeed(platform);
    // Nodes that served routes before must stop.
    if (config.options.gateway === undefined) this.#feed.publish(NO_ROUTES);
    this.failed = new Promise<never>((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined); // without a listener the rejection must not end the process
  }

  async readFiles(kubeletPlainPorts: readonly number[]): Promise<ServerFiles> {
    const platform = this.#platform;
    const { apiServer: options, schedulerConfigFile } = this.#config.options;
    const machinePorts = await readMachinePorts(platform.files, { ...this.#config, kubeletPlainPorts });
    checkRoutePorts(this.#config.options, machinePorts);
    await freePorts(platform, this.#config.instance, machinePorts.own);
    if (options === undefined && schedulerConfigFile === undefined)
      return { apiServer: undefined, scheduler: undefined, machinePorts };
    await this.#certificates.ensure().pki;
    const server = {
      audiences: [defaultIssuer(this.#config.instance)],
      servesConsole: this.#config.options.console !== false,
    };
    const apiServer =
      options && (await (await import('./api-server-setup.ts')).loadApiServerSetup(platform, options, server));
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
    // Both wait for the disk and for other threads, so they run in parallel; meanwhile this thread loads the API
    // server's code.
    const opening = progress.phase('store', () => this.#openStore(signal)).then((store) => (this.#store = store));
    const certificates = this.#certificates.ensure();
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
      settings: serverSettings(options),
      scheduler,
      controllers: controllerSettings(options),
      gatewayClass: options.gateway !== undefined,
      console: options.console === false ? undefined : consoleOf(platform),
      serverJoin: this.#etcd && (await this.#joinRoute()),
      routes: [this.#feed.route()],
    });
    this.#controlPlane = controlPlane;
    await progress.phase('API server', async () => {
      await controlPlane.start(signal);
      const tls = { ...pki.apiServer, clientCaPem: pki.ca.certPem };
      await apiPort?.release();
      await controlPlane.serve({ host: listenAddress(options), port: instance.httpsPort, tls });
    });
    await this.#certificates.writeAdminKubeconfig(pki);
    signal.throwIfAborted();
    await this.#provideGatewayApi(controlPlane, signal);
    const clientDeps = { platform, controlPlane, store, feed: this.#feed, machinePorts, caPem: pki.ca.certPem };
    this.#clients = new ServerClients(clientDeps, this.#config);
    this.#controllersEnd = this.#clients.run(signal).catch((error: unknown) => {
      if (!signal.aborted) this.#fail(error);
    });
    return { controlPlane, pki };
  }

  /** Before addons run, so that their first pass applies it. */
  async #provideGatewayApi(controlPlane: ControlPlane, signal: AbortSignal): Promise<void> {
    const { instance, options } = this.#config;
    if (options.gateway === undefined) return;
    const { provideGatewayApi } = await import('../gateway/provide-gateway-api.ts');
    const { objects } = controlPlane.server;
    if (!(await provideGatewayApi(this.#platform, objects, `${instance.dataDir}/manifests`))) return;
    const { gatewayApiDefined } = await import('../gateway/gateway-definitions.ts');
    this.#providedKinds = gatewayApiDefined(objects, signal);
  }

  async providedKinds(signal: AbortSignal): Promise<void> {
    if (this.#providedKinds === undefined) return;
    await Promise.race([this.#providedKinds, sleepUnlessAborted(this.#platform.clock, KINDS_PATIENCE_MS, signal)]);
  }

  async #openStore(signal: AbortSignal): Promise<Store> {
    const { store: choice, encryptionConfigFile: file } = this.#config.options;
    const encryption = file === undefined ? {} : { encryption: { file, reload: true } };
    const { dataDir, pkiDir, logDir, storeFile } = this.#config.instance;
    const wrap = (inner: Store): Store => {
      const pausable = createPausableStore(inner);
      this.#plain = { inner, pausable };
      return pausable.store;
    };
    const hasLog = this.#config.options.snapshots?.log !== undefined;
    if (!this.#config.ownEtcd)
      return openStore(this.#platform, { choice, file: storeFile, ...encryption, hasLog, wrap });
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

  components(): readonly ComponentStatus[] {
    const gateway = this.#clients?.gateway?.status() ?? [];
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

  async moveStore(to: StoreChoice, context: MoveContext): Promise<MoveReport> {
    if (!this.ready()) throw new PreflightError('the cluster is starting; try again when it runs');
    if (this.#config.ownEtcd) throw new PreflightError('this server runs an etcd of its own, which its cluster needs');
    const { moveStore } = await import('../store/move/move-store.ts');
    const { instance, options } = this.#config;
    return moveStore(this.#platform, { ...context, to, plain: this.#plain, instance, options });
  }

  underWay(): readonly string[] {
    return this.#controlPlane?.server.underWay() ?? [];
  }

  releaseMemory(): void {
    this.#controlPlane?.server.releaseMemory();
  }

  ready(): boolean {
    return this.#controlPlane?.server.ready() === true;
  }

  async status(): Promise<ServerStatus> {
    return {
      ...nodesAndPods(this.#controlPlane?.server.objects),
      store: (await this.#store?.status()) ?? NO_STORE,
      snapshots: await this.#clients?.snapshots?.status(),
    };
  }

  async stop(parts: StopParts): Promise<void> {
    // Writes wait for a store that does not answer, and end with it.
    await parts.wait('controllers and scheduler', this.#controllersEnd, STORE_PATIENCE_MS);
    this.#feed.close();
    await parts.wait('control plane', this.#controlPlane?.stop(), STORE_PATIENCE_MS);
    await parts.wait('history', this.#history?.close());
    await parts.wait('store', this.#store?.close());
  }
}
