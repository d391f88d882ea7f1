/**
 * The network between the machine and its further nodes: a bridge with an address of the machine, a veth pair to each node, and
 * an nftables table by which nodes reach what the machine reaches. Pods' routes over it are each node's own, as between machines.
 */
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';
import { insertForwardRules, removeForwardRules } from '../network/forward-accepts.ts';
import { ROUTE_PROTOCOL } from '../network/node-links.ts';
import { addressIn, nodeBridge, type NodePlace } from './nodes-file.ts';

type Deps = Pick<Platform, 'exec' | 'files' | 'log'>;
type Names = Pick<Instance, 'hash' | 'nftTable'>;

/** Makes the bridge and the rules, or brings them up to date. */
export async function ensureNodeNetwork(deps: Deps, instance: Instance, network: string): Promise<void> {
  const bridge = nodeBridge(instance);
  if (!(await hasDevice(deps, bridge)))
    await ip(deps, [`link add ${bridge} address ${bridgeMac(instance)} type bridge`]);
  await ip(deps, [
    `addr replace ${addressIn(network, 1)}/${network.split('/')[1]} dev ${bridge}`,
    `link set ${bridge} up`,
  ]);
  await nft(deps, nodeNetworkRules(instance, network));
  await insertForwardRules(deps, instance, forwardMatches(instance));
}

/**
 * Without an address of its own a bridge has the lowest of its ports', and changes it when nodes come and go. The others would send
 * to the former one for up to a minute.
 */
function bridgeMac({ hash }: Pick<Names, 'hash'>): string {
  return ['02', '6b', ...(hash.match(/../g) ?? []), '01'].join(':');
}

/** Connects a node whose namespaces are those of a process; the cable of one that is partitioned stays out. */
export async function connectNode(
  deps: Deps,
  instance: Instance,
  {
    place,
    network,
    holder,
    hostAddress,
    connected,
  }: {
    readonly place: NodePlace;
    readonly network: string;
    readonly holder: number;
    /** The node address of the machine itself, which the node finds on its own link. */
    readonly hostAddress: string;
    readonly connected: boolean;
  },
): Promise<void> {
  const { device, address } = place;
  if (!(await hasDevice(deps, device))) await ip(deps, [`link add ${device} type veth peer name eth0 netns ${holder}`]);
  // Also where it was there: the bridge may have been made again.
  await ip(deps, [`link set ${device} master ${nodeBridge(instance)}`]);
  await setConnected(deps, place, connected);
  await ip(
    deps,
    [
      'link set lo up',
      `addr replace ${address}/${network.split('/')[1]} dev eth0`,
      'link set eth0 up',
      `route replace default via ${addressIn(network, 1)}`,
      `route replace ${hostAddress}/32 dev eth0 scope link proto ${ROUTE_PROTOCOL} src ${address}`,
    ],
    holder,
  );
}

/** Pulls the cable of a node or puts it in; a node that is not there has none. */
export async function setConnected(
  deps: Deps,
  { device }: Pick<NodePlace, 'device'>,
  connected: boolean,
): Promise<void> {
  if (await hasDevice(deps, device)) await ip(deps, [`link set ${device} ${connected ? 'up' : 'down'}`]);
}

/** Whether its cable is in. */
export async function isConnected({ files }: Pick<Deps, 'files'>, { device }: NodePlace): Promise<boolean> {
  const flags = await files.readText(`/sys/class/net/${device}/flags`).catch(() => '');
  return (Number(flags.trim()) & 1) === 1;
}

/** The kernel does it when the last process of the node has ended, some time later. */
export async function disconnectNode(deps: Deps, { device }: Pick<NodePlace, 'device'>): Promise<void> {
  if (await hasDevice(deps, device)) await deps.exec.run('ip', ['link', 'del', device]);
}

/** Nothing there is no error. */
export async function removeNodeNetwork(deps: Deps, instance: Instance): Promise<void> {
  const bridge = nodeBridge(instance);
  if (await hasDevice(deps, bridge)) await ip(deps, [`link del ${bridge}`]);
  await nft(deps, removal(instance));
  await removeForwardRules(deps, instance, forwardMatches(instance));
}

const forwardMatches = (instance: Instance): readonly (readonly string[])[] => [
  ['-i', nodeBridge(instance)],
  ['-o', nodeBridge(instance)],
];

const table = ({ nftTable }: Pick<Names, 'nftTable'>): string => `ip ${nftTable}-nodes`;

const removal = (instance: Pick<Names, 'nftTable'>): string =>
  `table ${table(instance)}\ndelete table ${table(instance)}\n`;

/** Nodes leave the machine under its address; pods of theirs have the node's by then. */
function nodeNetworkRules(instance: Names, network: string): string {
  return `${removal(instance)}table ${table(instance)} {
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ip saddr ${network} oifname != { "${nodeBridge(instance)}", "kl${instance.hash}", "ks${instance.hash}", "lo" } masquerade
  }
}
`;
}

/** Whether the machine has a device of this name. */
export async function hasDevice({ files }: Pick<Deps, 'files'>, device: string): Promise<boolean> {
  return files.exists(`/sys/class/net/${device}`);
}

async function ip({ exec }: Pick<Deps, 'exec'>, lines: readonly string[], holder?: number): Promise<void> {
  const [program = '', ...args] = [
    ...(holder === undefined ? [] : ['nsenter', '-t', String(holder), '-n', '--']),
    ...['ip', '-batch', '-'],
  ];
  const result = await exec.run(program, args, { input: `${lines.join('\n')}\n` });
  if (result.exitCode !== 0) throw new Error(`ip: ${result.stderr.trim()}`);
}

async function nft({ exec }: Pick<Deps, 'exec'>, script: string): Promise<void> {
  const result = await exec.run('nft', ['-f', '-'], { input: script });
  if (result.exitCode !== 0) throw new Error(`nft: ${result.stderr.trim()}`);
}
