/**
 * `keelson up --nodes N`: N - 1 further nodes on this machine, each in namespaces of its own with a containerd, kubelet, proxy and
 * DNS of its own, joined as other machines join. They outlive this process; a start adopts those that run, and makes the others.
 * After kind's and k3d's nodes, which are containers of Docker.
 */
import { isReason } from '../../api/status-error.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import { nodeCondition } from '../../component-helpers/nodes.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Instance } from '../instance/instance.ts';
import { requireProgram } from '../instance/preflight.ts';
import { createBootstrapToken, deleteBootstrapToken } from '../join/bootstrap-tokens.ts';
import { formatJoinToken } from '../join/join-token.ts';
import { PreflightError } from '../preflight-error.ts';
import type { NodeAction } from './node-actions.ts';
import { NamespaceNode, type NodeState } from './namespace-node.ts';
import { NAMESPACE_PROGRAMS } from './namespaces.ts';
import { ensureNodeNetwork, freeNetwork } from './node-network.ts';
import type { NodesOptions } from './nodes-options.ts';
import { entriesFor, readNodesFile, writeNodesFile, type NodeEntry, type NodesFile } from './nodes-file.ts';

export interface NodesConfig {
  readonly instance: Instance;
  readonly options: NodesOptions;
  /** The node address of the machine itself. */
  readonly hostAddress: string;
  /** How the nodes reach the API server. */
  readonly server: string;
}

export interface NodeStatus {
  readonly name: string;
  readonly address: string;
  readonly state: NodeState;
  readonly dataDir: string;
  readonly containerdSocket: string;
}

type Joining = Pick<ControlPlane, 'admin' | 'server'>;

const TOKEN_TTL_MS = 10 * 60_000;
const READY_TIMEOUT_MS = 120_000;
const READY_POLL_MS = 20;
const CHECK_PERIOD_MS = 1000;

export class NamespaceNodes {
  readonly #platform: Platform;
  readonly #config: NodesConfig;
  #file: NodesFile = { format: 1, network: '', nodes: [] };
  #nodes = new Map<string, NamespaceNode>();
  #joining: Joining | undefined;
  readonly #removed: string[] = [];
  #keeping: Promise<void> = Promise.resolve();
  /** One change of a node at a time. */
  readonly #changes = new Map<string, Promise<unknown>>();

  constructor(platform: Platform, config: NodesConfig) {
    this.#platform = platform;
    this.#config = config;
  }

  /** Makes networks and namespaces, which need no control plane. */
  async prepare(): Promise<void> {
    const { instance, options, hostAddress } = this.#config;
    const { files } = this.#platform;
    if (hostAddress.includes(':') || hostAddress.startsWith('127.'))
      throw new PreflightError(`--nodes: the machine needs an IPv4 address that nodes can reach, not ${hostAddress}`);
    for (const [program, debianPackage] of NAMESPACE_PROGRAMS) await requireProgram(files, program, debianPackage);
    const kept = await readNodesFile(files, instance.dataDir);
    const network = kept?.network ?? (await freeNetwork(this.#platform, instance));
    const nodes = entriesFor(options.count, instance.nodeName, kept?.nodes);
    const setting = { instance, network, hostAddress, command: options.command };
    const surplus = (kept?.nodes ?? []).filter(({ number }) => number > options.count);
    for (const entry of surplus) await this.#remove(new NamespaceNode(this.#platform, setting, entry));
    await this.#write({ format: 1, network, nodes });
    this.#nodes = new Map(nodes.map((entry) => [entry.name, new NamespaceNode(this.#platform, setting, entry)]));
    await ensureNodeNetwork(this.#platform, instance, network);
    await Promise.all(this.#wanted().map((node) => node.prepare()));
  }

  /** Starts their agents and keeps them until the signal aborts; resolves when all are Ready. */
  async start(joining: Joining, signal: AbortSignal): Promise<void> {
    this.#joining = joining;
    const wanted = this.#wanted();
    const token = await this.#writeTokens(wanted);
    await Promise.all(wanted.map((node) => this.#change(node, () => node.ensure(this.#agentArgs(node)))));
    this.#keeping = this.#keep(signal);
    await Promise.all(wanted.map((node) => this.#ready(node.place.name, signal)));
    await deleteBootstrapToken(joining.admin, token);
    for (const name of this.#removed) await deleteNode(joining.admin, name);
  }

  /** Fewer nodes are wanted than there were. Its object goes once the API answers. */
  async #remove(node: NamespaceNode): Promise<void> {
    await node.stop();
    await this.#platform.files.remove(node.place.dataDir);
    this.#removed.push(node.place.name);
  }

  /** Ends the agents. Pods and containerd stay. After the signal's abort. */
  async stop(): Promise<void> {
    await this.#keeping;
    await Promise.all([...this.#nodes.values()].map((node) => this.#change(node, () => node.endAgent())));
  }

  status(): Promise<readonly NodeStatus[]> {
    return Promise.all(
      this.#file.nodes.map(async ({ name, stopped }) => {
        const node = this.#nodes.get(name)!;
        const { address, dataDir } = node.place;
        const state = stopped === true ? 'stopped' : await node.state();
        return { name, address, state, dataDir, containerdSocket: `unix://${node.instance.containerd.socket}` };
      }),
    );
  }

  /** Does what a user asks of one; resolves to the line about it. Rejects with `PreflightError` for what is refused. */
  async act(action: NodeAction, name: string): Promise<string> {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new PreflightError(this.#unknown(name));
    return this.#change(node, () => this.#act(action, node));
  }

  async #act(action: NodeAction, node: NamespaceNode): Promise<string> {
    const { name } = node.place;
    const { stopped } = this.#file.nodes.find((entry) => entry.name === name)!;
    if (action === 'start') {
      if (stopped !== true && (await node.isAlive())) return `${name} runs already`;
      await this.#mark(name, undefined);
      await node.prepare();
      await this.#writeTokens([node]);
      await node.ensure(this.#agentArgs(node));
      return `${name} was started`;
    }
    if (stopped === true) {
      if (action === 'stop' || action === 'kill') return `${name} is stopped already`;
      throw new PreflightError(`${name} is stopped (keelson node start ${name})`);
    }
    if (action === 'partition' || action === 'heal') {
      const isPartitioned = (await node.state()) === 'partitioned';
      if (isPartitioned === (action === 'partition'))
        return `${name} is ${isPartitioned ? 'partitioned' : 'connected'} already`;
      await node.setConnected(action === 'heal');
      return action === 'heal' ? `${name} is connected again` : `${name} is cut off from all others`;
    }
    await this.#mark(name, true);
    if (action === 'kill') await node.kill();
    else {
      const problem = await node.stop();
      if (problem !== undefined)
        this.#platform.log.warn('A node was not stopped in order', { node: name, reason: problem });
    }
    return `${name} was ${action === 'kill' ? 'killed' : 'stopped'}`;
  }

  #unknown(name: string): string {
    const { nodeName } = this.#config.instance;
    if (name === nodeName) return `${name} is the machine itself: keelson down ends it, with the cluster`;
    return `there is no node ${name} here; nodes: ${[...this.#nodes.keys()].join(', ')}`;
  }

  #wanted(): readonly NamespaceNode[] {
    return this.#file.nodes.filter(({ stopped }) => stopped !== true).map(({ name }) => this.#nodes.get(name)!);
  }

  async #mark(name: string, stopped: true | undefined): Promise<void> {
    const change = (entry: NodeEntry): NodeEntry => (entry.name === name ? { ...entry, stopped } : entry);
    await this.#write({ ...this.#file, nodes: this.#file.nodes.map(change) });
  }

  async #write(file: NodesFile): Promise<void> {
    if (JSON.stringify(file) !== JSON.stringify(this.#file))
      await writeNodesFile(this.#platform.files, this.#config.instance.dataDir, file);
    this.#file = file;
  }

  #agentArgs({ place }: NamespaceNode): readonly string[] {
    return [
      ...['agent', '--data-dir', place.dataDir, '--node-name', place.name, '--node-ip', place.address],
      ...['--server', this.#config.server, '--token-file', tokenFile(place.dataDir)],
      ...this.#config.options.agentArgs,
    ];
  }

  /** A token of a node that has joined lies unused, and ends by itself. */
  async #writeTokens(nodes: readonly NamespaceNode[]): Promise<string> {
    const { clock, files, random } = this.#platform;
    const admin = this.#joining!.admin;
    const expiresAtMs = clock.nowMs() + TOKEN_TTL_MS;
    const token = await createBootstrapToken(admin, random, {
      groups: [],
      expiresAtMs,
      description: 'keelson up --nodes',
    });
    const caPem = await files.readText(`${this.#config.instance.pkiDir}/ca.crt`);
    const text = formatJoinToken(readCertificate(this.#platform, caPem).publicKeyHash, token);
    for (const { place } of nodes) await files.writeFileAtomic(tokenFile(place.dataDir), `${text}\n`, { mode: 0o600 });
    return token;
  }

  async #ready(name: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#platform;
    const deadlineMs = clock.monotonicMs() + READY_TIMEOUT_MS;
    for (;;) {
      const node = this.#joining!.server.objects.get(Nodes, '', name);
      const ready = nodeCondition(node, 'Ready');
      const isTainted = node?.spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') === true;
      if (ready?.status === 'True' && !isTainted) return;
      if (clock.monotonicMs() > deadlineMs)
        throw new Error(
          `the node ${name} is not Ready after ${READY_TIMEOUT_MS / 1000} s: ${ready?.message ?? 'it has not registered'}; see keelson logs --node ${name}`,
        );
      await clock.sleep(READY_POLL_MS, signal);
    }
  }

  /** Makes again what ended, however it ended. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#platform;
    while (!signal.aborted) {
      await sleepUnlessAborted(clock, CHECK_PERIOD_MS, signal);
      for (const node of this.#wanted()) {
        if (signal.aborted || this.#changes.has(node.place.name)) continue;
        try {
          if (await node.isAlive()) continue;
          log.warn('A node of this machine ended and is started again', { node: node.place.name });
          await this.#change(node, () => node.ensure(this.#agentArgs(node)));
        } catch (error) {
          logFailedRound(log, 'cannot start a node of this machine', {
            node: node.place.name,
            reason: errorMessage(error),
          });
        }
      }
    }
  }

  #change<T>({ place }: NamespaceNode, work: () => Promise<T>): Promise<T> {
    const before = this.#changes.get(place.name) ?? Promise.resolve();
    const change = before.then(work, work);
    this.#changes.set(place.name, change);
    const end = (): void => {
      if (this.#changes.get(place.name) === change) this.#changes.delete(place.name);
    };
    change.then(end, end);
    return change;
  }
}

async function deleteNode(admin: Client, name: string): Promise<void> {
  try {
    await admin.resource(Nodes).delete({ name });
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}

const tokenFile = (dataDir: string): string => `${dataDir}/join-token`;
