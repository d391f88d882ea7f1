/** One further node of this machine: its namespaces, its cable, its agent, and what they share with the machine. */
import type { Platform } from '../../platform/platform.ts';
import { hasErrorCode } from '../../base/errors.ts';
import { deriveInstance, type Instance } from '../instance/instance.ts';
import { removeCgroups } from '../node/remove-cgroups.ts';
import { NodeNamespaces } from './namespaces.ts';
import { connectNode, disconnectNode, isConnected, setConnected } from './node-network.ts';
import { NodeProcess } from './node-process.ts';
import { nodePlace, type NodeEntry, type NodePlace } from './nodes-file.ts';
import type { KeelsonCommand } from './nodes-options.ts';

/** What all nodes of a machine have in common. */
export interface NodesSetting {
  readonly instance: Instance;
  readonly network: string;
  /** The node address of the machine itself. */
  readonly hostAddress: string;
  readonly command: KeelsonCommand;
}

export type NodeState = 'running' | 'partitioned' | 'stopped' | 'starting';

/** Files of the cluster's data directory that hold for all of its nodes. */
const SHARED: readonly string[] = ['images', 'registries.yaml'];

export class NamespaceNode {
  readonly place: NodePlace;
  readonly #platform: Platform;
  readonly #setting: NodesSetting;
  readonly #namespaces: NodeNamespaces;
  readonly #process: NodeProcess;

  constructor(platform: Platform, setting: NodesSetting, entry: NodeEntry) {
    this.#platform = platform;
    this.#setting = setting;
    this.place = nodePlace(setting.instance, setting.network, entry);
    this.#namespaces = new NodeNamespaces(platform, this.place);
    this.#process = new NodeProcess(platform, this.place, setting.command);
  }

  /** The names of the node's own instance. */
  get instance(): Instance {
    const { clusterCidr, serviceCidr, clusterDomain } = this.#setting.instance;
    const { dataDir, name: nodeName } = this.place;
    const options = { dataDir, nodeName, clusterCidr, serviceCidr, clusterDomain, httpsPort: 0 };
    return deriveInstance(options, (text) => this.#platform.crypto.sha256Hex(text));
  }

  /** Makes or adopts its namespaces and its cable, which may be out; resolves to the process that holds them. */
  async prepare(connected: boolean): Promise<number> {
    const { files } = this.#platform;
    const { instance, network, hostAddress } = this.#setting;
    await files.makeDir(this.place.dataDir, { mode: 0o700 });
    for (const name of SHARED) await this.#share(name);
    if ((await this.#namespaces.holder()) === undefined) await this.#clear();
    const holder = await this.#namespaces.ensure();
    await connectNode(this.#platform, instance, { place: this.place, network, holder, hostAddress, connected });
    return holder;
  }

  /** Makes it run, whatever of it is missing. */
  async ensure(args: readonly string[], connected: boolean): Promise<void> {
    await this.#process.ensure(await this.prepare(connected), args);
  }

  /** Whether its namespaces and its agent are there. */
  async isAlive(): Promise<boolean> {
    return (await this.#namespaces.isHeld()) && (await this.#process.isAlive());
  }

  async state(): Promise<Exclude<NodeState, 'stopped'>> {
    if (!(await this.isAlive())) return 'starting';
    return (await this.isConnected()) ? 'running' : 'partitioned';
  }

  isConnected(): Promise<boolean> {
    return isConnected(this.#platform, this.place);
  }

  setConnected(connected: boolean): Promise<void> {
    return setConnected(this.#platform, this.place, connected);
  }

  /** Ends the agent alone. */
  endAgent(): Promise<void> {
    return this.#process.end();
  }

  /** Ends it as a machine that is shut down. What does not end in order is killed, and logged. */
  async stop(): Promise<void> {
    const holder = await this.#namespaces.holder();
    const reason = holder === undefined ? undefined : await this.#process.takeDown(holder);
    await this.#clear();
    if (reason === undefined) return;
    const { log } = this.#platform;
    log.warn('A node of this machine did not end in order; what ran of it was killed', {
      node: this.place.name,
      reason,
    });
  }

  /** Ends it as a machine that loses its power. */
  kill(): Promise<void> {
    return this.#clear();
  }

  /** What is left of it on the machine, apart from its data. */
  async #clear(): Promise<void> {
    const { cgroupRoot, runDir } = this.instance;
    await this.#namespaces.kill(cgroupRoot);
    await removeCgroups(this.#platform, this.instance);
    await this.#platform.files.remove(runDir);
    await disconnectNode(this.#platform, this.place);
  }

  async #share(name: string): Promise<void> {
    try {
      await this.#platform.files.symlink(`../../${name}`, `${this.place.dataDir}/${name}`);
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) throw error;
    }
  }
}
