/** `--nodes` of a real cluster: how many nodes this machine has, and what their agents are started with. */
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import type { NodesOptions } from '../cluster/nodes/nodes-options.ts';
import type { RawServerOptions } from './cluster-options.ts';
import { supervisedCommand } from './supervision.ts';
import { UserError } from './usage-error.ts';

const MAX_NODES = 20;

/** Undefined where `--nodes` was never given. Throws `UserError` with exit code 2. */
export function parseMachineNodes(
  raw: RawServerOptions & { readonly nodes?: string },
  options: ClusterOptions,
): NodesOptions | undefined {
  if (raw.nodes === undefined) return undefined;
  const count = Number(raw.nodes);
  if (!Number.isInteger(count) || count < 1 || count > MAX_NODES)
    throw usage(`--nodes: ${raw.nodes} is not a number between 1 and ${MAX_NODES}`);
  if (count > 1) refuseUnsupported(raw, options);
  const isSupervised = raw.restart !== 'never';
  return {
    count,
    agentArgs: agentArgs(raw),
    command: (args) =>
      isSupervised ? ['/bin/sh', ...supervisedCommand(args)] : [process.execPath, process.argv[1] ?? '', ...args],
  };
}

function refuseUnsupported(
  { containerRuntimeEndpoint, cni, clusterCidr }: RawServerOptions,
  { nodeName }: ClusterOptions,
): void {
  if (containerRuntimeEndpoint !== undefined)
    throw usage('--nodes: each node has a containerd of its own; leave --container-runtime-endpoint out');
  if (cni === 'none') throw usage('--nodes: CNI plugins of yours would meet in one folder; leave --cni none out');
  if (clusterCidr?.split(',')[0]?.includes(':') === true)
    throw usage('--nodes: the first range of --cluster-cidr must be of IPv4, which connects the nodes');
  // As a host name; a dash and two digits follow.
  if (nodeName.length > 60)
    throw usage(`--nodes: ${nodeName} leaves no room for the names of others; give a --node-name`);
}

/** What holds for the node of the machine holds for all. */
function agentArgs(raw: RawServerOptions): readonly string[] {
  const {
    kubeletConfig,
    kubeletArg = [],
    nodeLabel = [],
    nodeTaint = [],
    dnsStubDomain = [],
    nodeportAddresses = [],
  } = raw;
  return [
    ...['--log-level', raw.logLevel],
    ...(raw.proxyMode === undefined ? [] : ['--proxy-mode', raw.proxyMode]),
    ...nodeportAddresses.flatMap((text) => ['--nodeport-addresses', text]),
    ...dnsStubDomain.flatMap((text) => ['--dns-stub-domain', text]),
    ...(kubeletConfig === undefined ? [] : ['--kubelet-config', kubeletConfig]),
    ...kubeletArg.flatMap((text) => ['--kubelet-arg', text]),
    ...nodeLabel.flatMap((text) => ['--node-label', text]),
    ...nodeTaint.flatMap((text) => ['--node-taint', text]),
  ];
}

function usage(text: string): UserError {
  return new UserError(text, 2);
}
