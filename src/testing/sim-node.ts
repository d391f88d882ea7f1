/**
 * A simulated machine with a real kubelet. The machine (files, cgroups, network, container runtime) outlives its kubelet, which
 * can be stopped, crash and start again; the machine itself can lose its power.
 */
import type { Principal } from '../api/transport.ts';
import type { Client } from '../client/client.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { openKubeletServer } from '../cluster/node/kubelet-server.ts';
import { nodePrincipal } from '../cluster/node/node-connection.ts';
import { type ClusterNode, createClusterNode, instanceNodeConfig } from '../cluster/node/node.ts';
import { SIM_IMAGE_FS } from '../cri/sim/sim-images.ts';
import type { SimRuntime } from '../cri/sim/sim-runtime.ts';
import type { KubeletConfiguration } from '../kubelet/kubelet-configuration.ts';
import type { Clock } from '../platform/clock.ts';
import type { HostInfo } from '../platform/host.ts';
import type { HttpServer } from '../platform/http.ts';
import { createSimHost } from '../platform/sim/host.ts';
import { createSimPlatform, type SimPlatform } from '../platform/sim/sim-platform.ts';
import { createSkewedClock, type SkewedClock } from '../platform/sim/skewed-clock.ts';
import { createGate, type Gate } from './gate.ts';
import { connectPods } from './pod-grpc.ts';
import { gateRuntime, type RuntimeGate } from './runtime-gate.ts';
import { createSimDraDrivers, keepSlices, type SimDraDrivers } from './sim-dra-drivers.ts';
import { NODE_TLS } from './sim-identities.ts';
import { provideMachineFiles } from './sim-machine-files.ts';
import { createNodeRuntime, loadHost } from './sim-node-runtime.ts';
import type { SimNodeDeps, SimNodeSpec } from './sim-node-spec.ts';

const KUBELET_PORT = 10_250;

/** The drivers' user, with all rights, because no test concerns these. */
const DRIVERS: Principal = { name: 'dra-drivers', groups: ['system:masters', 'system:authenticated'] };

/** Enough to find the errors of a machine; all lines of thousands of machines would fill the memory. */
const NODE_LOG = { maxEntries: 100, minLevel: 'warn' } as const;

interface Incarnation {
  readonly life: AbortController;
  readonly gate: Gate;
  readonly cri: RuntimeGate;
  readonly node: ClusterNode;
  server: HttpServer | undefined;
}

export class SimNode {
  readonly name: string;
  readonly address: string;
  readonly runtime: SimRuntime;
  readonly spec: SimNodeSpec;
  readonly drivers: SimDraDrivers;
  readonly #deps: SimNodeDeps;
  readonly #clock: SkewedClock;
  #platform: SimPlatform<Clock>;
  readonly #life = new AbortController();
  #driverGate: Gate | undefined;
  #powered = false;
  #boots = 0;
  #running: Incarnation | undefined;
  #partitioned = false;

  constructor(spec: SimNodeSpec, deps: SimNodeDeps) {
    this.name = spec.name;
    this.address = deps.address;
    this.spec = spec;
    this.#deps = deps;
    this.#clock = createSkewedClock(deps.beside.clock);
    this.drivers = createSimDraDrivers(this.#clock, spec.draDrivers ?? [], deps.instance.kubeletRoot);
    this.#platform = createSimPlatform<Clock>({
      beside: deps.beside,
      clock: this.#clock,
      log: { ...NODE_LOG, forwardTo: deps.log && deps.log.child('', { node: spec.name }) },
      seed: `${deps.seed}/${spec.name}`,
      addresses: [deps.address],
      host: this.#facts(),
    });
    this.runtime = createNodeRuntime(this.#platform, deps);
    loadHost(this.#platform.host, this.#clock, this.runtime);
  }

  /** The machine's ports of `platform/`. */
  get platform(): SimPlatform<Clock> {
    return this.#platform;
  }

  /** Whether its kubelet runs. */
  get up(): boolean {
    return this.#running !== undefined;
  }

  /** The gate between the running kubelet and the API server. */
  get gate(): Gate | undefined {
    return this.#running?.gate;
  }

  /** The components of the running kubelet. */
  get kubelet(): ClusterNode | undefined {
    return this.#running?.node;
  }

  /** Starts the kubelet. Has no effect when it runs. */
  async start(): Promise<void> {
    if (this.#running !== undefined) return;
    const { clock, random } = this.#platform;
    const life = new AbortController();
    this.#powered = true;
    this.#startDrivers();
    const gate = createGate({ clock, random: random.fork('gate'), server: this.#deps.server });
    if (this.#partitioned) gate.close();
    const cri = gateRuntime(this.runtime);
    const client = this.#client(gate, nodePrincipal(this.name), 'kubelet');
    const instance = { ...this.#deps.instance, nodeName: this.name };
    const node = await createClusterNode({
      csiNodeFirst: false, // reading it would be wasted on thousands of nodes without drivers
      platform: this.#platform,
      client,
      cri: cri.runtime,
      connectGrpc: connectPods(this.#platform.network, this.#platform.clock, this.drivers.connect),
      config: instanceNodeConfig(instance, KUBELET_PORT, this.#settings()), // The simulated runtime gets the pods' range from the kubelet.
    });
    const running: Incarnation = { life, gate, cri, node, server: undefined };
    this.#running = running;
    await this.#platform.files.makeDir(SIM_IMAGE_FS); // the file system that the runtime reports for its images
    await provideMachineFiles(this.#platform);
    await this.#announceDrivers();
    await node.start(life.signal);
    running.server = await openKubeletServer(
      { platform: this.#platform, client, config: node.config, port: KUBELET_PORT, tls: NODE_TLS },
      node,
    );
  }

  /** Stops the kubelet gracefully; containers keep running. */
  async stop(): Promise<void> {
    const running = this.#take();
    if (running === undefined) return;
    running.life.abort(new Error('the kubelet is stopping'));
    await running.server?.close(0);
    await running.node.stop();
    running.gate.destroy();
    running.cri.cut();
  }

  /** Stops the kubelet and everything else for good. */
  async dispose(): Promise<void> {
    await this.stop();
    this.#life.abort(new Error('the machine is no more'));
    this.#driverGate?.destroy();
  }

  /** Ends the kubelet abruptly; containers keep running. */
  crashKubelet(): void {
    const running = this.#take();
    if (running === undefined) return;
    running.gate.destroy();
    running.cri.cut();
    running.life.abort(new Error('the kubelet crashed'));
    void running.server?.close(0);
    void running.node.stop();
  }

  /** Cuts the power: kubelet and containers end at once. The disk keeps its content. */
  async powerOff(): Promise<void> {
    this.crashKubelet();
    for (const id of [...this.runtime.sandboxes.keys()]) await this.runtime.loseSandbox(id);
    this.#boots++;
    this.#powered = false;
    this.#joinDrivers();
    this.drivers.reset();
    const host = createSimHost({ ...this.#facts(), bootId: this.#bootId() });
    loadHost(host, this.#clock, this.runtime);
    this.#platform = { ...this.#platform, host };
  }

  /** Whether the machine has power; its kubelet may be stopped nevertheless. */
  get powered(): boolean {
    return this.#powered;
  }

  /** Disconnects the machine from the API server and the other machines, or connects it again. */
  setPartitioned(partitioned: boolean): void {
    this.#partitioned = partitioned;
    if (partitioned) this.#running?.gate.close();
    else this.#running?.gate.open();
    this.#joinDrivers();
  }

  /** Sets the difference of its wall clock from the world's. */
  setClockSkew(skewMs: number): void {
    this.#clock.setSkew(skewMs);
  }

  get partitioned(): boolean {
    return this.#partitioned;
  }

  /** Drivers outlive kubelets. */
  #startDrivers(): void {
    if (this.#driverGate === undefined && this.drivers.sockets.length > 0) {
      const { clock, random, log, files } = this.#platform;
      this.#driverGate = createGate({ clock, random: random.fork('driver-gate'), server: this.#deps.server });
      const client = this.#client(this.#driverGate, DRIVERS, 'dra-drivers');
      const runs = (driver: string): Promise<boolean> => files.exists(this.drivers.socketOf(driver));
      keepSlices({ client, clock, random: random.fork('drivers'), log, runs }, this.name, this.#life.signal);
    }
    this.#joinDrivers();
  }

  #joinDrivers(): void {
    if (this.#powered && !this.#partitioned) this.#driverGate?.open();
    else this.#driverGate?.close();
  }

  /** The sockets exist whether or not a kubelet runs. */
  async #announceDrivers(): Promise<void> {
    const { files } = this.#platform;
    for (const socket of this.drivers.sockets) {
      if (await files.exists(socket)) continue;
      await files.makeDir(socket.slice(0, socket.lastIndexOf('/')));
      files.makeSpecial(socket, 'socket');
    }
  }

  #take(): Incarnation | undefined {
    const running = this.#running;
    this.#running = undefined;
    return running;
  }

  #client(gate: Gate, principal: Principal, userAgent: string): Client {
    return createInProcessClient({ handler: gate.handler, principal, clock: this.#platform.clock, userAgent });
  }

  #facts(): Partial<HostInfo> {
    const { cpus, memoryBytes } = this.spec;
    return {
      hostname: this.name,
      bootId: this.#bootId(),
      ...(cpus === undefined ? {} : { cpuCount: cpus }),
      ...(memoryBytes === undefined ? {} : { memoryBytes }),
    };
  }

  #bootId(): string {
    return `00000000-0000-0000-0000-${String(this.#boots).padStart(12, '0')}`;
  }

  #settings(): Partial<KubeletConfiguration> {
    const { labels, taints, maxPods, kubelet } = this.spec;
    return {
      staticPodPath: '',
      ...(labels === undefined ? {} : { nodeLabels: labels }),
      ...(taints === undefined ? {} : { registerWithTaints: taints }),
      ...(maxPods === undefined ? {} : { maxPods }),
      ...kubelet,
    };
  }
}
