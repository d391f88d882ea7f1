/** `--nodes` of a real cluster: how many nodes this machine has, and what their agents are started with. */
import { resolve } from 'node:path';
import { formatCidr, parseCidr, rangeFamily } from '../base/cidr.ts';
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import type { NodesOptions } from '../cluster/nodes/nodes-options.ts';
import { nodeCount, type RawServerOptions } from './cluster-options.ts';
import { parseRegistry } from './registry-option.ts';
import { supervisedCommand } from './supervision.ts';
import { wrongUsage } from './usage-error.ts';

const MAX_NODES = 20;

/** Undefined where `--nodes` was never given. Throws `UserError` with exit code 2. */
export function parseMachineNodes(
  raw: RawServerOptions & { readonly nodes?: string; readonly nodesNetwork?: string },
  options: ClusterOptions,
): NodesOptions | undefined {
  if (raw.nodes === undefined) {
    if (raw.nodesNetwork !== undefined) throw wrongUsage('--nodes-network connects several nodes: add --nodes');
    return undefined;
  }
  const count = nodeCount(raw.nodes, 1, MAX_NODES);
  if (count > 1) refuseUnsupported(raw, options);
  else if (raw.nodesNetwork !== undefined)
    throw wrongUsage('--nodes-network connects several nodes: --nodes 2 or more');
  const isSupervised = raw.restart !== 'never';
  return {
    count,
    network: parseNetwork(raw.nodesNetwork),
    clusters: async () =>
      (await (await import('./machine-clusters.ts')).machineClusters()).map(({ dataDir }) => dataDir),
    agentArgs: agentArgs(raw),
    command: (args) =>
      isSupervised ? ['/bin/sh', ...supervisedCommand(args)] : [process.execPath, process.argv[1] ?? '', ...args],
  };
}

/** Room for the machine, the most nodes there can be, and the network and broadcast addresses. */
const LONGEST_PREFIX = 27;
const SHORTEST_PREFIX = 8;

function parseNetwork(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const range = text.includes(',') ? undefined : parseCidr(text);
  if (range === undefined || rangeFamily(text) !== 4)
    throw wrongUsage(`--nodes-network: ${text} is no range of IPv4 such as 172.29.240.0/24`);
  const { prefixLength } = range;
  if (prefixLength < SHORTEST_PREFIX || prefixLength > LONGEST_PREFIX)
    throw wrongUsage(`--nodes-network: ${text} must be between /${SHORTEST_PREFIX} and /${LONGEST_PREFIX}`);
  return formatCidr(range);
}

function refuseUnsupported(
  { containerRuntimeEndpoint, cni, clusterCidr }: RawServerOptions,
  { nodeName }: ClusterOptions,
): void {
  if (containerRuntimeEndpoint !== undefined)
    throw wrongUsage('--nodes: each node has a containerd of its own; leave --container-runtime-endpoint out');
  if (cni === 'none') throw wrongUsage('--nodes: CNI plugins of yours would meet in one folder; leave --cni none out');
  if (clusterCidr?.split(',')[0]?.includes(':') === true)
    throw wrongUsage('--nodes: the first range of --cluster-cidr must be of IPv4, which connects the nodes');
  // As a host name; a dash and two digits follow.
  if (nodeName.length > 60)
    throw wrongUsage(`--nodes: ${nodeName} leaves no room for the names of others; give a --node-name`);
}

/** Settings of the machine's node are those of all its nodes. */
function agentArgs(raw: RawServerOptions): readonly string[] {
  const {
    kubeletConfig,
    kubeletArg = [],
    nodeLabel = [],
    nodeTaint = [],
    dnsStubDomain = [],
    nodeportAddresses = [],
  } = raw;
  const { registryPort } = parseRegistry(raw.registry);
  return [
    ...['--log-level', raw.logLevel],
    ...(raw.flannelBackend === undefined ? [] : ['--flannel-backend', raw.flannelBackend]),
    ...(raw.proxyMode === undefined ? [] : ['--proxy-mode', raw.proxyMode]),
    ...nodeportAddresses.flatMap((text) => ['--nodeport-addresses', text]),
    ...dnsStubDomain.flatMap((text) => ['--dns-stub-domain', text]),
    // Each serves what was pushed to any of them.
    ...(registryPort === undefined ? [] : ['--registry', String(registryPort)]),
    // They do not start in this folder.
    ...(kubeletConfig === undefined ? [] : ['--kubelet-config', resolve(kubeletConfig)]),
    ...kubeletArg.flatMap((text) => ['--kubelet-arg', text]),
    ...nodeLabel.flatMap((text) => ['--node-label', text]),
    ...nodeTaint.flatMap((text) => ['--node-taint', text]),
  ];
}
