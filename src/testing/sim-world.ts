/**
 * The components of a simulated cluster: store, API server, controllers, scheduler and machines, each of which can be stopped,
 * crash and start again while the others continue. Except for the simulated machines, all of it is the code of a real cluster
 * (`cluster/`) with other ports.
 */
import type { ApiHandler, Principal } from '../api/transport.ts';
import type { ApiServer } from '../apiserver/api-server-contract.ts';
import type { Client } from '../client/client.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { type ControlPlane, createControlPlane } from '../cluster/control-plane/control-plane.ts';
import { deriveInstance, type Instance } from '../cluster/instance/instance.ts';
import { type ClusterPki, createTokenKey } from '../component-helpers/pki/cluster-pki.ts';
import type { ExplainPod } from '../component-helpers/pod-why.ts';
import type { Platform } from '../platform/platform.ts';
import type { Clock } from '../platform/clock.ts';
import type { SimPlatform } from '../platform/sim/sim-platform.ts';
import type { Store } from '../storage/store.ts';
import { createEventLog, type EventLog } from './event-log.ts';
import { createFaultyStore, noStoreFaults, type StoreFaults } from './faulty-store.ts';
import { createGate, type Gate } from './gate.ts';
import { createRepeatableTokens } from './repeatable-tokens.ts';
import { API_SERVER_CLIENT, PLACEHOLDER_CA_PEM, verifySimulatedPeer } from './sim-identities.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';
import { SimNode } from './sim-node.ts';
import { SimComponents } from './sim-components.ts';
import type { SimWorldDeps, WorldIdentity } from './sim-world-deps.ts';
import { gateStore, type StoreGate } from './store-gate.ts';

export class SimWorld {
  readonly nodes = new Map<string, SimNode>();
  readonly faults: StoreFaults = noStoreFaults();
  readonly log: EventLog;
  readonly instance: Instance;
  readonly #deps: SimWorldDeps;
  readonly #store: Store;
  #key: ClusterPki['serviceAccount'] | undefined;
  #controlPlane: ControlPlane | undefined;
  #storeGate: StoreGate | undefined;
  /** Resolves when a crashed server has ended. */
  #lastBreath: Promise<void> | undefined;
  #serverLife = new AbortController();
  /** Published as `kube-root-ca.crt`; passed to the controllers when they start. */
  authority: Partial<ClusterPki['ca']> & { readonly certPem: string };
  readonly components: SimComponents;
  #nextAddress = 1;

  constructor(deps: SimWorldDeps) {
    this.#deps = deps;
    const { clock, random, network, crypto } = deps.platform;
    this.#store = createFaultyStore(deps.store, this.faults, { clock, random: random.fork('store') });
    this.log = createEventLog(deps.store, clock, { keepLines: deps.keepLines });
    this.authority = deps.identity?.ca ?? { certPem: PLACEHOLDER_CA_PEM };
    this.#key = deps.identity?.serviceAccount;
    network.verifyPeer = verifySimulatedPeer;
    network.reachable = (from, to) => !this.#isCutOff(from) && !this.#isCutOff(to);
    this.instance = deriveInstance(
      {
        dataDir: '/var/lib/keelson',
        nodeName: 'control-plane',
        clusterCidr: '10.128.0.0/9',
        serviceCidr: '10.96.0.0/16',
        clusterDomain: 'cluster.local',
        httpsPort: deps.httpsPort ?? 6443,
      },
      (text) => crypto.sha256Hex(text),
    );
    this.components = new SimComponents(deps, {
      instance: this.instance,
      server: this.#handler,
      clientFor: (principal, userAgent, gate) => this.clientFor(principal, userAgent, gate),
      authority: () => this.authority,
      controlPlane: () => this.controlPlane,
      machine: (name) => this.nodes.get(name),
    });
  }

  /** The keys of this world; undefined before the first start of a server. */
  get identity(): WorldIdentity | undefined {
    return this.#key && { serviceAccount: this.#key, ca: this.authority };
  }

  /** Whether the API server runs. */
  get serverUp(): boolean {
    return this.#controlPlane !== undefined;
  }

  /** The running API server. */
  get server(): ApiServer {
    return this.controlPlane.server;
  }

  /** Throws while there is none. */
  get controlPlane(): ControlPlane {
    if (this.#controlPlane === undefined) throw new Error('the API server is down');
    return this.#controlPlane;
  }

  readonly #handler = (): ApiHandler | undefined => this.#controlPlane?.server.handler;

  /** A client that keeps working across restarts of the server. */
  clientFor(principal: Principal, userAgent: string, gate?: Gate): Client {
    const { clock, random } = this.#deps.platform;
    const handler = gate?.handler ?? createGate({ clock, random, server: this.#handler }).handler;
    return createInProcessClient({ handler, principal, clock, userAgent });
  }

  /** Starts the API server. */
  async startServer(): Promise<void> {
    if (this.#controlPlane !== undefined) return;
    await this.#lastBreath;
    const { platform, repeatable } = this.#deps;
    const { clock } = platform;
    const gate = gateStore(this.#store);
    this.#key ??= await createTokenKey(platform);
    this.#serverLife = new AbortController();
    const controlPlane = createControlPlane({
      platform: platform as Platform,
      store: gate.store,
      history: this.#deps.history,
      instance: this.instance,
      hostAddress: '10.64.0.1',
      runtimeConfig: this.#deps.runtimeConfig,
      console: this.#deps.console,
      routes: this.#deps.routes,
      settings: { identityLease: false }, // a lease of the server's identity has no reader here, and its renewals would be most events of an idle day
      explainPod: () => this.components.scheduler?.why,
      schedulerSteps: () => this.components.scheduler?.steps.stepsOf,
      runsBeside: (part) => this.components.has(part === 'scheduler' ? part : 'controllers'),
      pki: { ca: { certPem: this.authority.certPem }, kubeletClient: API_SERVER_CLIENT, serviceAccount: this.#key },
      wrapTokens: repeatable ? (tokens) => createRepeatableTokens(tokens, clock) : undefined,
    });
    await controlPlane.start(this.#serverLife.signal);
    this.#controlPlane = controlPlane;
    this.#storeGate = gate;
    this.#deps.onServerStart(controlPlane.server);
  }

  /** Stops the API server; its clients are refused until it starts again. */
  async stopServer(): Promise<void> {
    const controlPlane = this.#controlPlane;
    this.#controlPlane = undefined;
    this.#serverLife.abort(new Error('the API server is stopping'));
    await controlPlane?.stop();
  }

  /** Ends the API server abruptly: its further calls do not reach the store. */
  crashServer(): void {
    const controlPlane = this.#controlPlane;
    this.#controlPlane = undefined;
    this.#storeGate?.cut();
    this.#serverLife.abort(new Error('the API server crashed'));
    this.#lastBreath = controlPlane?.stop();
  }

  /** The machine of the control plane. */
  get platform(): SimPlatform<Clock> {
    return this.#deps.platform;
  }

  /** The gate between the running API server and the store. */
  get storeGate(): StoreGate | undefined {
    return this.serverUp ? this.#storeGate : undefined;
  }

  /** Gates between a component (all when absent) and the API server. */
  gates(part?: string): Gate[] {
    const all = new Map<string, Gate | undefined>(this.components.gates());
    for (const node of this.nodes.values()) all.set(`kubelet/${node.name}`, node.gate);
    return [...all]
      .filter(([name]) => part === undefined || name === part || name.startsWith(`${part}/`))
      .flatMap(([, gate]) => gate ?? []);
  }

  /** Whether a controller, or the API server, is enabled, runs, and can be reached. */
  works(name: string): boolean {
    return name === 'apiserver' ? this.serverUp : this.components.runsController(name);
  }

  /** Explains a pod's scheduling; undefined while no scheduler runs. */
  get explainPod(): ExplainPod | undefined {
    return this.components.scheduler?.why;
  }

  /** Adds a machine; its kubelet is not started. */
  addNode(spec: SimNodeSpec): SimNode {
    if (this.nodes.has(spec.name)) throw new Error(`there is a node ${spec.name} already`);
    const number = ++this.#nextAddress;
    const { platform, seed, images, realNet, unknownImages, controllers, log } = this.#deps;
    const address = `10.64.${number >> 8}.${number & 255}`;
    const hasRanges = controllers?.includes('node-ipam-controller') ?? true;
    const node = new SimNode(spec, {
      beside: platform,
      seed,
      address,
      instance: this.instance,
      server: this.#handler,
      images,
      realNet,
      unknownImages,
      log,
      podCidr: hasRanges ? undefined : `10.${128 + (number >> 8)}.${number & 255}.0/24`,
    });
    this.nodes.set(spec.name, node);
    return node;
  }

  /** Stops everything gracefully. */
  async stop(): Promise<void> {
    await Promise.all([...this.nodes.values()].map((node) => node.dispose()));
    await this.components.stop('scheduler');
    await this.components.stop('controllers');
    await this.stopServer();
    await this.#lastBreath;
    this.log.stop();
    await this.#store.close();
  }

  #isCutOff(address: string): boolean {
    for (const node of this.nodes.values()) if (node.address === address) return node.partitioned;
    return false;
  }
}
