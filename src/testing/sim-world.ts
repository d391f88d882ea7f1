/**
 * The parts of a simulated cluster and their lives: store, API server, controllers, scheduler and machines, each of which
 * can be stopped, crash and start again while the others go on. All but the machines' insides is the code of a real cluster
 * (`cluster/`), given other ports.
 */
import type { ApiHandler, Principal } from '../api/transport.ts';
import type { ApiServer } from '../apiserver/api-server-contract.ts';
import { onAbort } from '../base/abort.ts';
import type { Client } from '../client/client.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import {
  type BuiltInConfig,
  runBuiltInControllers,
  startBuiltInScheduler,
} from '../cluster/control-plane/built-in-clients.ts';
import { type ControlPlane, createControlPlane } from '../cluster/control-plane/control-plane.ts';
import { deriveInstance, type Instance } from '../cluster/instance/instance.ts';
import { type ClusterPki, createTokenKey } from '../component-helpers/pki/cluster-pki.ts';
import type { ExplainPod } from '../component-helpers/pod-why.ts';
import type { Platform } from '../platform/platform.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
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
import type { SimWorldDeps, WorldIdentity } from './sim-world-deps.ts';
import { gateStore, type StoreGate } from './store-gate.ts';

/** A part that can be started and ended. */
interface Running {
  readonly life: AbortController;
  readonly gate: Gate;
  readonly ended: Promise<void>;
}

/** The parts that are one process each in a real cluster, but the kubelets. */
export type ComponentName = 'controllers' | 'scheduler';

/** The simulated cluster's parts. */
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
  /** The end of a server that crashed. */
  #lastBreath: Promise<void> | undefined;
  #serverLife = new AbortController();
  /** Published as `kube-root-ca.crt`; told to the controllers when they start. */
  authority: Partial<ClusterPki['ca']> & { readonly certPem: string };
  #scheduler: Scheduler | undefined;
  readonly #components = new Map<ComponentName, Running>();
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
  }

  /** The keys of this world; undefined while no server has started. */
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

  /** The running control plane. Throws while there is none. */
  get controlPlane(): ControlPlane {
    if (this.#controlPlane === undefined) throw new Error('the API server is down');
    return this.#controlPlane;
  }

  readonly #handler = (): ApiHandler | undefined => this.#controlPlane?.server.handler;

  /** A client that goes on working over restarts of the server. */
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
      settings: { identityLease: false }, // Nobody asks which server it is, and its renewals would be most of a quiet day.
      explainPod: () => this.#scheduler?.why,
      schedulerSteps: () => this.#scheduler?.steps.stepsOf,
      runsBeside: (part) => this.#components.has(part === 'scheduler' ? part : 'controllers'),
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

  /** Ends the API server at once: nothing it still does reaches the store. */
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

  /** The running API server's way to the store. */
  get storeGate(): StoreGate | undefined {
    return this.serverUp ? this.#storeGate : undefined;
  }

  /** Starts controllers or scheduler. Resolves once it works (controllers: has begun to). */
  async startComponent(name: ComponentName): Promise<void> {
    if (this.#components.has(name)) return;
    const { platform, controllers, scheduler, cloud } = this.#deps;
    const life = new AbortController();
    const { clock, random } = platform;
    const gate = createGate({ clock, random: random.fork(`gate/${name}`), server: this.#handler });
    const deps = {
      platform,
      clientFor: (principal: Principal, agent: string) => this.clientFor(principal, agent, gate),
    };
    let ended = Promise.resolve();
    if (name === 'controllers' && controllers?.length !== 0) {
      const { certPem, keyPem } = this.authority;
      const config = {
        instance: this.instance,
        rootCaPem: certPem,
        // Requests for certificates are signed where there is a key: once the cluster has a real port.
        clusterSigning: keyPem === undefined ? undefined : { certPem, keyPem },
        signServiceAccountToken: this.controlPlane.tokens.issueLegacy,
        cloudNodes: cloud ? this.#cloudNodes : undefined,
        settings: controllers && { names: controllers },
      };
      ended = runBuiltInControllers(deps, config, life.signal);
    }
    if (name === 'scheduler' && scheduler) ended = this.#startScheduler(deps, life.signal);
    // A component that is ended while it starts rejects with the reason of its end.
    ended = ended.catch((error: unknown) => {
      if (!life.signal.aborted) throw error;
    });
    this.#components.set(name, { life, gate, ended });
    if (name === 'scheduler') await ended;
  }

  /** The cloud whose machines these are. */
  readonly #cloudNodes: NonNullable<BuiltInConfig['cloudNodes']> = {
    stateOf: ({ metadata }) => {
      const machine = this.nodes.get(metadata.name ?? '');
      return Promise.resolve(machine === undefined ? 'gone' : machine.powered ? 'exists' : 'off');
    },
  };

  /** Answers why a pod is where it is; undefined while no scheduler runs. */
  get explainPod(): ExplainPod | undefined {
    return this.#scheduler?.why;
  }

  async #startScheduler(deps: Parameters<typeof startBuiltInScheduler>[0], signal: AbortSignal): Promise<void> {
    onAbort(signal, () => (this.#scheduler = undefined));
    const config = { hostName: 'simulated', setup: this.#deps.schedulerSetup?.() };
    const scheduler = await startBuiltInScheduler(deps, config, signal);
    if (!signal.aborted) this.#scheduler = scheduler;
  }

  /** Ends a component at once. */
  crashComponent(name: ComponentName): void {
    const running = this.#components.get(name);
    this.#components.delete(name);
    running?.gate.destroy();
    running?.life.abort(new Error(`the ${name} crashed`));
  }

  /** Whether a controller, or the API server, does its work: is meant to run, does, and may make calls. */
  works(name: string): boolean {
    if (name === 'apiserver') return this.serverUp;
    const { controllers } = this.#deps;
    const running = this.#components.get('controllers');
    return (controllers?.includes(name) ?? true) && running?.gate.closed === false;
  }

  /** Stops a component in order. */
  async stopComponent(name: ComponentName): Promise<void> {
    const running = this.#components.get(name);
    this.#components.delete(name);
    running?.life.abort(new Error(`the ${name} stopped`));
    await running?.ended;
    running?.gate.destroy();
  }

  /** Gates between the named parts (all when absent) and the API server. */
  gates(part?: string): Gate[] {
    const all = new Map<string, Gate | undefined>([...this.#components].map(([name, { gate }]) => [name, gate]));
    for (const node of this.nodes.values()) all.set(`kubelet/${node.name}`, node.gate);
    return [...all]
      .filter(([name]) => part === undefined || name === part || name.startsWith(`${part}/`))
      .flatMap(([, gate]) => gate ?? []);
  }

  /** Puts up a machine; its kubelet is not started. */
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

  /** Ends everything in order. */
  async stop(): Promise<void> {
    await Promise.all([...this.nodes.values()].map((node) => node.dispose()));
    await this.stopComponent('scheduler');
    await this.stopComponent('controllers');
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
