/**
 * Starts the network of a machine's further nodes: checks programs and addresses, chooses the range, creates the
 * devices.
 */
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';
import { missingPrograms } from '../instance/preflight.ts';
import { PreflightError } from '../preflight-error.ts';
import { NamespaceNode, type NodesSetting } from './namespace-node.ts';
import { ensureNodeNetwork, removeNodeNetwork } from './node-network.ts';
import type { NodesOptions } from './nodes-options.ts';
import type { NodeLocation, NodesFile } from './nodes-file.ts';
import { NAMESPACE_PROGRAMS } from './node-programs.ts';
import { tokenFile } from './node-tokens.ts';
import { ensureNodesNetwork } from './ensure-network.ts';

export interface NodesConfig {
  readonly instance: Instance;
  readonly options: NodesOptions;
  /** The machine's own address in the node network. */
  readonly hostAddress: string;
  /** The API server's address for the nodes. */
  readonly server: string;
}

/** The settings that all nodes on this network share. */
export function settingOf({ instance, options, hostAddress }: NodesConfig, network: string): NodesSetting {
  return { instance, network, hostAddress, command: options.command };
}

/** The command-line arguments of a node's agent. */
export function agentArgs(
  { server, options }: NodesConfig,
  { dataDir, name, address }: NodeLocation,
): readonly string[] {
  return [
    ...['agent', '--data-dir', dataDir, '--node-name', name, '--node-ip', address],
    ...['--server', server, '--token-file', tokenFile(dataDir)],
    ...options.agentArgs,
  ];
}

/** Creates the network and resolves to its range. Throws `PreflightError` where this machine cannot have it. */
export async function makeNetwork(platform: Platform, config: NodesConfig, file: NodesFile): Promise<string> {
  const { instance, options, hostAddress } = config;
  if (hostAddress === '' || hostAddress.includes(':') || hostAddress.startsWith('127.'))
    throw new PreflightError(
      `--nodes: the machine needs an IPv4 address that nodes can reach, not ${hostAddress || 'none'}`,
    );
  const missing = await missingPrograms(platform.files, NAMESPACE_PROGRAMS);
  if (missing.length > 0)
    throw new PreflightError(`--nodes: these programs are needed and missing: ${missing.join(', ')}`);
  const kept = file.network === '' ? undefined : file.network;
  const { network: wanted, clusters } = options;
  const network = await ensureNodesNetwork(platform, { instance, wanted, kept, clusters });
  if (kept !== undefined && kept !== network) await leaveNetwork(platform, config, file);
  await ensureNodeNetwork(platform, instance, network);
  return network;
}

/** Stops nodes that run on a network whose range changes; they start again with new addresses. */
async function leaveNetwork(platform: Platform, config: NodesConfig, { network, nodes }: NodesFile): Promise<void> {
  const setting = settingOf(config, network);
  await Promise.all(nodes.map((entry) => new NamespaceNode(platform, setting, entry).stop()));
  await removeNodeNetwork(platform, config.instance);
}
