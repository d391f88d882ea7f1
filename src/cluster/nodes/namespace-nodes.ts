/**
 * `keelson up --nodes N`: N - 1 further nodes on this machine, each in its own namespaces with its own containerd,
 * kubelet, proxy and DNS, joined as other machines join. They outlive this process; a start adopts running ones and
 * creates the others. A start does not wait for a node that has joined before; it is kept running in the background.
 * Modelled on the nodes of kind and k3d, which are Docker containers.
 */
import { errorMessage } from '../../base/errors.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { settledWithin, sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { PreflightError } from '../preflight-error.ts';
import { agentArgs, makeNetwork, settingOf, type NodesConfig } from './machine-network.ts';
import { NamespaceNode } from './namespace-node.ts';
import type { NodeAction } from './node-actions.ts';
import { actOn } from './node-acts.ts';
import { NodeKeeper, type KeptNode } from './node-keeper.ts';
import { removeNodeNetwork } from './node-network.ts';
import { becomesReady, whyNotReady } from './node-readiness.ts';
import { NodeRecords } from './node-records.ts';
import { statusOf, type NodeStatus } from './node-status.ts';
import { NodeTokens } from './node-tokens.ts';
import { entriesFor, readNodesFile, type NodeEntry } from './nodes-file.ts';
import { deleteNodeObjects, keepWantedNodes, removeNodes } from './removed-nodes.ts';

type JoinTarget = Pick<ControlPlane, 'admin' | 'server'>;

/** How long a start waits for a node that was never Ready. */
const FIRST_READY_TIMEOUT_MS = 120_000;
/** How long a start waits for a node that was Ready before. */
const READY_TIMEOUT_MS = 10_000;
const CHECK_PERIOD_MS = 1000;
const END_TIMEOUT_MS = 20_000;
/** The key of the network in the keeper; the other keys are node names. */
const NETWORK = '';

export class NamespaceNodes {
  readonly #platform: Platform;
  readonly #config: NodesConfig;
  readonly #keeper: NodeKeeper;
  #records: NodeRecords;
  #nodes = new Map<string, NamespaceNode>();
  #hasNetwork = false;
  /** Names of removed nodes whose objects still exist. */
  #gone: readonly string[] = [];
  #isStopping = false;
  #joining: JoinTarget | undefined;
  #tokens: NodeTokens | undefined;
  #keeping: Promise<void> = Promise.resolve();
  /** Serializes the changes of each node. */
  readonly #changes = new KeyedMutex();

  constructor(platform: Platform, config: NodesConfig) {
    this.#platform = platform;
    this.#config = config;
    this.#keeper = new NodeKeeper(platform);
    this.#records = new NodeRecords(platform.files, config.instance.dataDir, { format: 1, network: '', nodes: [] });
  }

  /** Creates network and namespaces, which needs no control plane. Rejects when a new node cannot be created. */
  async prepare(): Promise<void> {
    const { instance, options } = this.#config;
    const { files } = this.#platform;
    const nodesFile = await readNodesFile(files, instance.dataDir);
    const surplus = (nodesFile?.nodes ?? []).filter(({ number }) => number > options.count);
    const file = {
      format: 1,
      network: nodesFile?.network ?? '',
      nodes: entriesFor(options.count, instance.nodeName, nodesFile?.nodes),
      removed: [...(nodesFile?.removed ?? []), ...surplus],
    } as const;
    this.#records = new NodeRecords(files, instance.dataDir, file);
    if (nodesFile !== undefined) {
      await this.#records.change({});
      this.#gone = await removeNodes(this.#platform, settingOf(this.#config, nodesFile.network), this.#records);
      await this.#records.change(keepWantedNodes(this.#records.file, this.#gone));
      this.#build(nodesFile.network);
    }
    if (file.nodes.length === 0) return;
    await this.#keeper.make(this.#network());
    const problem = this.#keeper.problem(NETWORK);
    if (problem !== undefined && this.#newcomers().length > 0) throw new PreflightError(problem);
    if (problem === undefined) this.#prepareNodes();
  }

  /** Errors are ignored here: the steps are repeated when the agents start. */
  #prepareNodes(): void {
    for (const entry of this.#records.wanted()) {
      const node = this.#nodes.get(entry.name)!;
      void this.#change(node, () => node.prepare(entry.partitioned !== true)).catch(() => undefined);
    }
  }

  /**
   * Starts the agents and keeps them running until the signal aborts. Resolves to the nodes that are not Ready: new
   * nodes are waited for, the others only as long as a node usually takes to start. Resolves to undefined when no
   * further nodes are left. Rejects when a new node cannot be created.
   */
  async start(joining: JoinTarget, signal: AbortSignal): Promise<readonly string[] | undefined> {
    const { instance } = this.#config;
    this.#joining = joining;
    this.#tokens = new NodeTokens(this.#platform, joining.admin, instance.pkiDir);
    await deleteNodeObjects(this.#platform, { records: this.#records, gone: this.#gone }, joining.admin);
    if (this.#records.file.nodes.length === 0) {
      await this.#end();
      return undefined;
    }
    const isNew = this.#newcomers().map(({ name }) => name);
    const making = this.#records.wanted().map(({ name }) => this.#keeper.make(this.#kept(name)));
    for (const [at, { name }] of this.#records.wanted().entries()) {
      if (!isNew.includes(name)) continue;
      await making[at];
      const problem = this.#keeper.problem(name);
      if (problem !== undefined) throw new PreflightError(`the node ${name} cannot be made: ${problem}`);
    }
    this.#keeping = this.#keep(signal);
    return this.#waitForAll(isNew, signal);
  }

  async #waitForAll(isNew: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const { clock, log } = this.#platform;
    const startedMs = clock.monotonicMs();
    const late = await Promise.all(
      this.#records.wanted().map(async ({ name }) => {
        const limitMs = isNew.includes(name) ? FIRST_READY_TIMEOUT_MS : READY_TIMEOUT_MS;
        if (await this.#ready(name, startedMs + limitMs, signal)) return [];
        const reason = this.#keeper.problem(name) ?? this.#whyNot(name) ?? 'it is cut off or does not answer';
        log.warn('A node of this machine is not Ready; the cluster starts without it', { node: name, reason });
        return [name];
      }),
    );
    if (late.flat().length === 0) await this.#tokens?.drop();
    return late.flat();
  }

  /** Does not wait for a node that is partitioned or cannot be created. */
  async #ready(name: string, deadlineMs: number, signal: AbortSignal): Promise<boolean> {
    const node = this.#nodes.get(name)!;
    const isReady = await becomesReady(
      this.#platform.clock,
      {
        deadlineMs,
        isHopeless: () => this.#records.entry(name)?.partitioned === true || this.#keeper.problem(name) !== undefined,
        isReady: async () => !this.#changes.isBusy(name) && this.#whyNot(name) === undefined && node.isAlive(),
      },
      signal,
    );
    if (isReady) await this.#records.mark(name, { joined: true });
    return isReady;
  }

  #whyNot(name: string): string | undefined {
    return whyNotReady(this.#joining!.server, name);
  }

  /** Removes network, folder and records once the last further node is gone. */
  async #end(): Promise<void> {
    if ((this.#records.file.removed ?? []).length > 0) return; // the next start continues the removal
    const { instance } = this.#config;
    await removeNodeNetwork(this.#platform, instance);
    await this.#platform.files.remove(`${instance.dataDir}/nodes`);
    await this.#records.remove();
  }

  /** Ends the agents after the signal's abort. Pods and containerd keep running. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#keeping;
    const { clock } = this.#platform;
    const ends = Promise.all([...this.#nodes.values()].map((node) => this.#endAgent(node)));
    await settledWithin(clock, END_TIMEOUT_MS, ends);
  }

  /** A node that does not end delays neither the others nor the server. */
  async #endAgent(node: NamespaceNode): Promise<void> {
    try {
      await this.#change(node, () => node.endAgent());
    } catch (error) {
      const reason = errorMessage(error);
      this.#platform.log.warn('The agent of a node of this machine did not end', { node: node.place.name, reason });
    }
  }

  async status(): Promise<readonly NodeStatus[]> {
    const shown = this.#records.file.nodes.flatMap(({ name, stopped }) => {
      const node = this.#nodes.get(name);
      const problem = this.#keeper.problem(name) ?? this.#keeper.problem(NETWORK);
      return node === undefined ? [] : statusOf(node, stopped === true, problem);
    });
    return Promise.all(shown);
  }

  /**
   * Performs a user's action on a node; resolves to a line about it. Rejects with `PreflightError` when it is
   * refused.
   */
  async act(action: NodeAction, name: string): Promise<string> {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new PreflightError(this.#unknown(name));
    if (this.#joining === undefined && action === 'start')
      throw new PreflightError('the cluster is starting; try again when it runs');
    return this.#change(node, () => {
      this.#keeper.forget(name);
      const start = async (): Promise<string> => {
        await this.#makeNode(name);
        return `${name} was started`;
      };
      return actOn(action, { node, records: this.#records, start });
    });
  }

  #unknown(name: string): string {
    const { nodeName } = this.#config.instance;
    if (name === nodeName) return `${name} is the machine itself: keelson down ends it, with the cluster`;
    return `there is no node ${name} here; nodes: ${[...this.#nodes.keys()].join(', ')}`;
  }

  /** Nodes that were never Ready. */
  #newcomers(): readonly NodeEntry[] {
    return this.#records.wanted().filter(({ joined }) => joined !== true);
  }

  #build(network: string): void {
    const setting = settingOf(this.#config, network);
    const { nodes } = this.#records.file;
    this.#nodes = new Map(nodes.map((entry) => [entry.name, new NamespaceNode(this.#platform, setting, entry)]));
  }

  /** The network as an entry of the keeper, which retries it like a node. */
  #network(): KeptNode {
    return {
      name: NETWORK,
      isAlive: async () => this.#hasNetwork,
      make: async () => {
        const network = await makeNetwork(this.#platform, this.#config, this.#records.file);
        if (this.#nodes.size === 0 || network !== this.#records.file.network) this.#build(network);
        await this.#records.change({ network });
        this.#hasNetwork = true;
      },
    };
  }

  #kept(name: string): KeptNode {
    const node = this.#nodes.get(name)!;
    return {
      name,
      isAlive: () => node.isAlive(),
      make: () => this.#change(node, () => this.#makeNode(name)),
    };
  }

  async #makeNode(name: string): Promise<void> {
    const node = this.#nodes.get(name)!;
    // The stop or the action may have come while this waited for the mutex.
    if (this.#isStopping || this.#records.entry(name)?.stopped === true) return;
    if (!this.#hasNetwork) throw new Error(this.#keeper.problem(NETWORK) ?? 'the network of the nodes is not there');
    await this.#tokens!.write(node.place.dataDir);
    const args = agentArgs(this.#config, node.place);
    await node.ensure(args, this.#records.entry(name)?.partitioned !== true);
  }

  /** Restarts nodes that have ended and records which have joined. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#platform;
    while (!signal.aborted) {
      await sleepUnlessAborted(clock, CHECK_PERIOD_MS, signal);
      if (signal.aborted) return;
      if (!this.#hasNetwork) await this.#keeper.check(this.#network());
      for (const { name } of this.#records.wanted())
        if (!this.#changes.isBusy(name)) this.#keeper.check(this.#kept(name)).catch(() => undefined); // never rejects
      await this.#welcome().catch((error: unknown) =>
        log.warn('cannot renew the tokens of nodes that have not joined yet', { reason: errorMessage(error) }),
      );
    }
  }

  async #welcome(): Promise<void> {
    for (const { name } of this.#newcomers()) {
      if (this.#whyNot(name) === undefined) await this.#records.mark(name, { joined: true });
      else if (this.#tokens!.isEnding()) await this.#tokens!.write(this.#nodes.get(name)!.place.dataDir);
    }
  }

  #change<T>({ place }: NamespaceNode, work: () => Promise<T>): Promise<T> {
    return this.#changes.run(place.name, work);
  }
}
