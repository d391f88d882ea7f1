/** The nodes of a simulated cluster for tests. */
import type { Node, Pod } from '../api/gen/core-v1.ts';
import { Nodes, Pods } from '../api/gen/resources.ts';
import type { Client } from '../client/client.ts';
import { isNodeReady, nodeCondition } from '../component-helpers/nodes.ts';
import type { SimRuntime } from '../cri/sim/sim-runtime.ts';
import { reportCallers } from './caller.ts';
import { type Duration, signedMs } from './duration.ts';
import { checkNode, checkOptionNames } from './option-shapes.ts';
import type { Pace } from './pace.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';
import type { SimNode } from './sim-node.ts';
import type { SimWorld } from './sim-world.ts';

export interface NodesDeps {
  readonly pace: Pace;
  readonly world: () => SimWorld;
  readonly client: () => Client;
  /** Whether a controller runs that removes the `not-ready` taint from Ready nodes. */
  readonly untainted: boolean;
  /** Called first by every call, with its name. Throws when the call is not possible. */
  readonly before: (call: string) => void;
}

/** The time in which a joining node must become Ready. */
const READY_WITHIN_MS = 60_000;

/** Adds, removes, breaks and repairs machines. All calls name a node; an unknown name throws. */
export class TestNodes {
  readonly #deps: NodesDeps;
  #joined = 0;

  static {
    reportCallers(TestNodes, (nodes, call) => nodes.#deps.before(`nodes.${call}`));
  }

  constructor(deps: NodesDeps) {
    this.#deps = deps;
  }

  /** Names, in the order in which they were added. */
  names(): string[] {
    return [...this.#deps.world().nodes.keys()];
  }

  /** Whether there is a machine of that name. */
  has(name: string): boolean {
    return this.#deps.world().nodes.has(name);
  }

  /** Adds a machine (`node-N` unless named) and waits until its node is Ready. */
  async add(spec: Partial<SimNodeSpec> = {}): Promise<Node> {
    const [name = ''] = await this.addMany([spec]);
    return structuredClone(this.#deps.world().server.objects.get(Nodes, '', name)!);
  }

  /** Adds several at once; resolves to their names when all are Ready. */
  async addMany(specs: readonly Partial<SimNodeSpec>[]): Promise<string[]> {
    const { pace, world, untainted } = this.#deps;
    for (const spec of specs) checkNode(spec);
    const made = specs.map((spec) => world().addNode({ ...spec, name: spec.name ?? this.#freeName() }));
    await pace.drive(Promise.all(made.map((node) => node.start())));
    const waiting = new Set(made.map(({ name }) => name));
    const ready = await pace.until(() => {
      for (const name of waiting) {
        const node = world().server.objects.get(Nodes, '', name);
        if (!isNodeReady(node) || (untainted && isTainted(node))) return false;
        waiting.delete(name);
      }
      return true;
    }, READY_WITHIN_MS);
    if (!ready)
      throw new Error(
        `not Ready after ${READY_WITHIN_MS / 1000} s: ${[...waiting].map((name) => this.#troubleOf(name)).join('; ')}`,
      );
    return made.map(({ name }) => name);
  }

  /** Removes a machine for good: power off, Node object deleted. */
  async remove(name: string): Promise<void> {
    await this.terminate(name);
    await this.#deps.client().resource(Nodes).delete({ name });
  }

  /** Removes a machine as a cloud does: controllers delete its Node object. */
  async terminate(name: string): Promise<void> {
    await this.crash(name);
    await this.#node(name).dispose();
    this.#deps.world().nodes.delete(name);
  }

  /** Ends the machine at once, containers and all. */
  async crash(name: string): Promise<void> {
    await this.#deps.pace.drive(this.#node(name).powerOff());
  }

  /** Starts a crashed machine, or a stopped kubelet. */
  async start(name: string): Promise<void> {
    await this.#deps.pace.drive(this.#node(name).start());
  }

  /** Stops the kubelet gracefully; containers keep running. */
  async stopKubelet(name: string): Promise<void> {
    await this.#deps.pace.drive(this.#node(name).stop());
  }

  /** Ends the kubelet abruptly; containers keep running. */
  crashKubelet(name: string): void {
    this.#node(name).crashKubelet();
  }

  /** Ends the kubelet, gracefully unless `crash` is set, and starts it again. */
  async restartKubelet(name: string, options: { readonly crash?: boolean } = {}): Promise<void> {
    checkOptionNames('restartKubelet', options, { crash: true });
    if (options.crash === true) this.crashKubelet(name);
    else await this.stopKubelet(name);
    await this.start(name);
  }

  /** Disconnects the machine from the API server and the other machines. */
  partition(name: string): void {
    this.#node(name).setPartitioned(true);
  }

  /** Ends `partition`. */
  heal(name: string): void {
    this.#node(name).setPartitioned(false);
  }

  /** Sets the machine's wall clock ahead of (or, negative, behind) all others; 0 corrects it. */
  skewClock(name: string, by: Duration): void {
    this.#node(name).setClockSkew(signedMs(by));
  }

  /** Fills the machine's disk except this many bytes. Larger writes fail with ENOSPC. */
  fillDisk(name: string, leaveBytes: number = 0): void {
    this.#node(name).platform.files.occupy(leaveBytes);
  }

  /** Ends `fillDisk`. */
  freeDisk(name: string): void {
    this.#node(name).platform.files.occupy(undefined);
  }

  /** Makes all unmounts on the machine fail, as when a program still uses the volume. */
  failUnmounts(name: string, message: string = 'device or resource busy'): void {
    this.#node(name).platform.mounter.failUnmounts(new Error(message));
  }

  /** Ends `failUnmounts`. */
  mendUnmounts(name: string): void {
    this.#node(name).platform.mounter.failUnmounts(undefined);
  }

  /** Marks the node unschedulable. */
  async cordon(name: string): Promise<void> {
    await this.#setUnschedulable(name, true);
  }

  /** Marks the node schedulable again. */
  async uncordon(name: string): Promise<void> {
    await this.#setUnschedulable(name, false);
  }

  /** Cordons the node and evicts its pods, except those of DaemonSets and static ones; does not wait for their end. */
  async drain(name: string): Promise<void> {
    await this.cordon(name);
    const client = this.#deps.client();
    const { items } = await client.resource(Pods).list({ fieldSelector: `spec.nodeName=${name}` });
    for (const pod of items.filter(isEvictable)) {
      const key = { namespace: pod.metadata.namespace, name: pod.metadata.name };
      await client
        .resource(Pods)
        .createSubresource(key, 'eviction', { apiVersion: 'policy/v1', kind: 'Eviction', metadata: key });
    }
  }

  /** The node's container runtime, for its containers' state, for crashing containers and failing calls. */
  runtime(name: string): SimRuntime {
    return this.#node(name).runtime;
  }

  /** The simulated machine itself. */
  machine(name: string): SimNode {
    return this.#node(name);
  }

  /** The conditions of a machine's Node object, or its kubelet's log before there is one. */
  #troubleOf(name: string): string {
    const node = this.#deps.world().server.objects.get(Nodes, '', name);
    const message = nodeCondition(node, 'Ready')?.message;
    const [last] = this.#node(name).platform.log.entries.slice(-1);
    return `${name}: ${message ?? (last === undefined ? 'not registered' : `${last.message} ${JSON.stringify(last.fields)}`)}`;
  }

  async #setUnschedulable(name: string, unschedulable: boolean): Promise<void> {
    await this.#deps
      .client()
      .resource(Nodes)
      .patch({ name }, { type: 'merge', patch: { spec: { unschedulable: unschedulable || null } } });
  }

  #node(name: string): SimNode {
    const node = this.#deps.world().nodes.get(name);
    if (node === undefined)
      throw new Error(
        `there is no node ${name}; there are: ${[...this.#deps.world().nodes.keys()].join(', ') || 'none'}`,
      );
    return node;
  }

  #freeName(): string {
    for (;;) {
      const name = `node-${++this.#joined}`;
      if (!this.#deps.world().nodes.has(name)) return name;
    }
  }
}

function isTainted(node: Node | undefined): boolean {
  return node?.spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') === true;
}

function isEvictable({ metadata }: Pod): boolean {
  return (
    !metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet') &&
    metadata.annotations?.['kubernetes.io/config.mirror'] === undefined
  );
}
