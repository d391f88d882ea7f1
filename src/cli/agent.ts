/** `keelson agent`: makes this machine a node of a cluster whose control plane is elsewhere. */
import { Command } from 'commander';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { FlannelBackend } from '../cluster/instance/instance.ts';
import type { AgentOptions } from '../cluster/join/agent-options.ts';
import { dataDirOption, parseEndpoint } from './cluster-options.ts';
import { parseNodeName, parseNodePortAddresses, parseStubDomains } from './network-options.ts';
import { instanceStart, type InstanceStart } from './instance-start.ts';
import { parseKubeletSettings, type RawKubeletSettings } from './kubelet-settings.ts';
import { parseServers, readJoinToken, withJoinToken, type RawJoinToken } from './join-options.ts';
import {
  checkPrivileges,
  configOption,
  flannelBackendOption,
  kubeletArgOption,
  kubeletConfigOption,
  logLevelOption,
  nodeLabelOption,
  nodeTaintOption,
  nodePortAddressesOption,
  proxyModeOption,
  restartOption,
  runDetached,
  stubDomainOption,
} from './server-options.ts';
import { parseRegistry, registryOption, type RawRegistry } from './registry-option.ts';
import { wrongUsage } from './usage-error.ts';

/** Options of `keelson agent` before they are checked. */
export interface RawAgentOptions extends RawJoinToken, RawKubeletSettings {
  readonly dataDir: string;
  readonly server?: string;
  readonly nodeName?: string;
  readonly nodeIp?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly flannelBackend?: FlannelBackend;
  readonly proxyMode?: 'nftables' | 'iptables' | 'userspace';
  readonly nodeportAddresses?: readonly string[];
  readonly dnsStubDomain?: readonly string[];
  readonly logLevel: string;
  readonly restart?: string;
  readonly detach?: boolean;
  readonly registry?: RawRegistry;
  readonly tunnel?: boolean;
}

export function agentCommand(): Command {
  const command = new Command('agent').description(
    'join this machine to a cluster as a node: kubelet, service proxy and DNS',
  );
  return agentOptions(command)
    .option('--detach', 'return when the node is Ready and leave it running')
    .action(async (raw: RawAgentOptions) => {
      const options = await parseAgentOptions(raw);
      checkPrivileges();
      const start = instanceStart(command, raw);
      process.exitCode = await (raw.detach === true ? runDetached(options.dataDir, start) : runAgent(options, start));
    });
}

/** Adds the options of an agent. */
export function agentOptions(command: Command): Command {
  const joining = command.option('--server <urls>', 'https://host:port of the cluster’s servers, separated by commas');
  return withJoinToken(joining)
    .addOption(dataDirOption('where the node keeps everything'))
    .option('--node-name <name>', 'name of this node (default: the host name)')
    .option('--node-ip <address>', 'address of this node (default: the first of a real device)')
    .option(
      '--container-runtime-endpoint <endpoint>',
      'use this CRI endpoint (unix:///path) instead of a containerd of our own',
    )
    .option('--tunnel', 'let the servers reach this node by connections that it opens: for machines behind NAT')
    .addOption(kubeletConfigOption())
    .addOption(kubeletArgOption())
    .addOption(nodeLabelOption())
    .addOption(nodeTaintOption())
    .addOption(registryOption())
    .addOption(configOption())
    .addOption(stubDomainOption())
    .addOption(flannelBackendOption())
    .addOption(proxyModeOption())
    .addOption(nodePortAddressesOption())
    .addOption(logLevelOption())
    .addOption(restartOption());
}

/** Checks everything that can be checked without looking at the machine. Throws `UserError`. */
export async function parseAgentOptions(raw: RawAgentOptions): Promise<AgentOptions> {
  const servers = raw.server === undefined ? undefined : parseServers('--server', raw.server);
  const token = await readJoinToken(raw);
  const endpoint = parseEndpoint(raw.containerRuntimeEndpoint);
  if (raw.nodeIp !== undefined && isIP(raw.nodeIp) === 0) throw wrongUsage(`--node-ip: ${raw.nodeIp} is no address`);
  return {
    dataDir: resolve(raw.dataDir),
    nodeName: parseNodeName(raw.nodeName),
    servers,
    token,
    ...parseStubDomains(raw.dnsStubDomain),
    flannelBackend: raw.flannelBackend,
    proxyMode: raw.proxyMode,
    ...parseNodePortAddresses(raw.nodeportAddresses),
    nodeIp: raw.nodeIp,
    tunnel: raw.tunnel === true,
    containerRuntimeEndpoint: endpoint,
    ...parseRegistry(raw.registry),
    ...(await parseKubeletSettings(raw)),
  };
}

async function runAgent(options: AgentOptions, start: InstanceStart): Promise<number> {
  const { runInstance } = await import('./run-instance.ts');
  const { prepareAgent } = await import('../cluster/join/prepare-agent.ts');
  const { createAgent } = await import('../cluster/join/agent.ts');
  return runInstance({
    dataDir: options.dataDir,
    start,
    async create(platform, progress, signal) {
      const prepared = await progress.phase('machine checked', () => prepareAgent(platform, options, signal));
      return createAgent(platform, { ...prepared, options, progress });
    },
  });
}
