/**
 * `keelson up --nodes N`: N - 1 further nodes on this machine, each in namespaces of its own with a containerd, kubelet, proxy and
 * DNS of its own, joined as other machines join. They outlive this process; a start adopts those that run, and makes the others.
 * A node that has joined once is no condition of a start: it is kept running beside it. After kind's and k3d's nodes, which are
 * containers of Docker.
 */
import { errorMessage } from '../../base/errors.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
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
import { deleteRemoved, takeAwayRemoved } from './removed-nodes.ts';

type Joining = Pick<ControlPlane, 'admin' | 'server'>;

/** How long a start waits for a node that never was Ready, and for one that was. */
const FIRST_READY_TIMEOUT_MS = 120_000;
const READY_TIMEOUT_MS = 10_000;
const CHECK_PERIOD_MS = 1000;
const END_TIMEOUT_MS = 20_000;
/** What the keeper calls the network, beside the names of nodes. */
const NETWORK = '';

export class NamespaceNodes {
  readonly #platform: Platform;
  readonly #config: NodesConfig;
  readonly #keeper: NodeKeeper;
  #records: NodeRecords;
  #nodes = new Map<string, NamespaceNode>();
  #hasNetwork = false;
  /** Names of removed nodes whose objects are left. */
  #gone: readonly string[] = [];
  #isStopping = false;
  #joining: Joining | undefined;
  #tokens: NodeTokens | undefined;
  #keeping: Promise<void> = Promise.resolve();
  /** One change of a node at a time. */
  readonly #changes = new KeyedMutex();

  constructor(platform: Platform, config: NodesConfig) {
    this.#platform = platform;
    this.#config = config;
    this.#keeper = new NodeKeeper(platform);
    this.#records = new NodeRecords(platform.files, config.instance.dataDir, { format: 1, network: '', nodes: [] });
  }

  /** Makes network and namespaces, which need no control plane. Rejects for what keeps a new node from being made. */
  async prepare(): Promise<void> {
    const { instance, options } = this.#config;
    const { files } = this.#platform;
    const kept = await readNodesFile(files, instance.dataDir);
    const surplus = (kept?.nodes ?? []).filter(({ number }) => number > options.count);
    const file = {
      format: 1,
      network: kept?.network ?? '',
      nodes: entriesFor(options.count, instance.nodeName, kept?.nodes),
      removed: [...(kept?.removed ?? []), ...surplus],
    } as const;
    this.#records = new NodeRecords(files, instance.dataDir, file);
    if (kept !== undefined) {
      await this.#records.change({});
      this.#build(kept.network);
      this.#gone = await takeAwayRemoved(this.#platform, settingOf(this.#config, kept.network), this.#records);
    }
    if (file.nodes.length === 0) return;
    await this.#keeper.make(this.#network());
    const problem = this.#keeper.problem(NETWORK);
    if (problem !== undefined && this.#newcomers().length > 0) throw new PreflightError(problem);
    if (problem === undefined) this.#prepareNodes();
  }

  /** What fails here is tried again with the agents. */
  #prepareNodes(): void {
    for (const entry of this.#records.wanted()) {
      const node = this.#nodes.get(entry.name)!;
      void this.#change(node, () => node.prepare(entry.partitioned !== true)).catch(() => undefined);
    }
  }

  /**
   * Starts their agents and keeps them until the signal aborts. Resolves to those that are not Ready: new ones are waited for, the
   * others no longer than a node takes to start. Undefined where there are none any more. Rejects for a new one that cannot be made.
   */
  async start(joining: Joining, signal: AbortSignal): Promise<readonly string[] | undefined> {
    const { instance } = this.#config;
    this.#joining = joining;
    this.#tokens = new NodeTokens(this.#platform, joining.admin, instance.pkiDir);
    await deleteRemoved(this.#platform, { records: this.#records, gone: this.#gone }, joining.admin);
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

  /** One that is cut off, or cannot be made, is not waited for. */
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

  /** The last further node is gone: the cluster is as one that never had any. */
  async #end(): Promise<void> {
    if ((this.#records.file.removed ?? []).length > 0) return; // The next start goes on with them.
    const { instance } = this.#config;
    await removeNodeNetwork(this.#platform, instance);
    await this.#platform.files.remove(`${instance.dataDir}/nodes`);
    await this.#records.remove();
  }

  /** Ends the agents. Pods and containerd stay. After the signal's abort. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#keeping;
    const { clock } = this.#platform;
    const ended = new AbortController();
    const ends = Promise.all([...this.#nodes.values()].map((node) => this.#endAgent(node)));
    await Promise.race([ends, sleepUnlessAborted(clock, END_TIMEOUT_MS, ended.signal)]);
    ended.abort();
  }

  /** One that does not end holds up neither the others nor the server. */
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

  /** Does what a user asks of one; resolves to the line about it. Rejects with `PreflightError` for what is refused. */
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

  /** Nodes that never were Ready. */
  #newcomers(): readonly NodeEntry[] {
    return this.#records.wanted().filter(({ joined }) => joined !== true);
  }

  #build(network: string): void {
    const setting = settingOf(this.#config, network);
    const { nodes } = this.#records.file;
    this.#nodes = new Map(nodes.map((entry) => [entry.name, new NamespaceNode(this.#platform, setting, entry)]));
  }

  /** For the keeper, which tries it again as it does nodes. */
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
    // Either may have come while this waited for its turn.
    if (this.#isStopping || this.#records.entry(name)?.stopped === true) return;
    if (!this.#hasNetwork) throw new Error(this.#keeper.problem(NETWORK) ?? 'the network of the nodes is not there');
    await this.#tokens!.write(node.place.dataDir);
    const args = agentArgs(this.#config, node.place);
    await node.ensure(args, this.#records.entry(name)?.partitioned !== true);
  }

  /** Makes again what ended, however it ended, and notes who has joined. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#platform;
    while (!signal.aborted) {
      await sleepUnlessAborted(clock, CHECK_PERIOD_MS, signal);
      if (signal.aborted) return;
      if (!this.#hasNetwork) await this.#keeper.check(this.#network());
      for (const { name } of this.#records.wanted())
        if (!this.#changes.isBusy(name)) this.#keeper.check(this.#kept(name)).catch(() => undefined); // It never rejects.
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
