/**
 * One further node of this machine: its namespaces, its veth pair, its agent, and the files it shares with the
 * machine.
 */
import type { Platform } from '../../platform/platform.ts';
import { hasErrorCode } from '../../base/errors.ts';
import { deriveInstance, type Instance } from '../instance/instance.ts';
import { removeCgroups } from '../node/remove-cgroups.ts';
import { NodeNamespaces } from './namespaces.ts';
import { connectNode, disconnectNode, isConnected, setConnected } from './node-network.ts';
import { NodeProcess } from './node-process.ts';
import { nodeLocation, type NodeEntry, type NodeLocation } from './nodes-file.ts';
import type { KeelsonCommand } from './nodes-options.ts';

/** The settings that all nodes of a machine share. */
export interface NodesSetting {
  readonly instance: Instance;
  readonly network: string;
  /** The machine's own address in the node network. */
  readonly hostAddress: string;
  readonly command: KeelsonCommand;
}

export type NodeState = 'running' | 'partitioned' | 'stopped' | 'starting';

/** Files of the cluster's data directory that all of its nodes share. */
const SHARED: readonly string[] = ['images', 'registries.yaml'];

export class NamespaceNode {
  readonly place: NodeLocation;
  readonly #platform: Platform;
  readonly #setting: NodesSetting;
  readonly #namespaces: NodeNamespaces;
  readonly #process: NodeProcess;

  constructor(platform: Platform, setting: NodesSetting, entry: NodeEntry) {
    this.#platform = platform;
    this.#setting = setting;
    this.place = nodeLocation(setting.instance, setting.network, entry);
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

  /**
   * Creates or adopts the namespaces and connects the node (unless `connected` is false); resolves to the pid of the
   * process that holds the namespaces.
   */
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

  /** Creates whatever is missing of the node and starts it. */
  async ensure(args: readonly string[], connected: boolean): Promise<void> {
    await this.#process.ensure(await this.prepare(connected), args);
  }

  /** Whether namespaces and agent exist. */
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

  /** Ends only the agent. */
  endAgent(): Promise<void> {
    return this.#process.end();
  }

  /** Shuts the node down like a machine. What does not end in order is killed and logged. */
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

  /** Kills the node like a machine that loses power. */
  kill(): Promise<void> {
    return this.#clear();
  }

  /** Removes what is left of the node on the machine, except its data. */
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
