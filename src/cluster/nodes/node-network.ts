/**
 * The network between the machine and its further nodes: a bridge with an address of the machine, a veth pair per
 * node, and an nftables table through which nodes reach what the machine reaches. Each node keeps its own routes to
 * other nodes' pods, as between machines.
 */
import type { Platform } from '../../platform/platform.ts';
import { runNft, runOrThrow } from '../../platform/run-or-throw.ts';
import type { Instance } from '../instance/instance.ts';
import { insertForwardRules, removeForwardRules } from '../network/forward-accepts.ts';
import { ROUTE_PROTOCOL } from '../network/node-links.ts';
import { addressIn, nodeBridge, type NodeLocation } from './nodes-file.ts';

type Deps = Pick<Platform, 'exec' | 'files' | 'log'>;
type Names = Pick<Instance, 'hash' | 'nftTable'>;

/** Creates or updates the bridge and the rules. */
export async function ensureNodeNetwork(deps: Deps, instance: Instance, network: string): Promise<void> {
  const bridge = nodeBridge(instance);
  if (!(await hasDevice(deps, bridge)))
    await ip(deps, [`link add ${bridge} address ${bridgeMac(instance)} type bridge`]);
  await ip(deps, [
    `addr replace ${addressIn(network, 1)}/${network.split('/')[1]} dev ${bridge}`,
    `link set ${bridge} up`,
  ]);
  await runNft(deps.exec, nodeNetworkRules(instance, network));
  await insertForwardRules(deps, instance, forwardMatches(instance));
}

/**
 * A fixed MAC address of the bridge. By default a bridge takes the lowest MAC of its ports, which changes as nodes
 * come and go; others would send to the former address for up to a minute.
 */
function bridgeMac({ hash }: Pick<Names, 'hash'>): string {
  return ['02', '6b', ...(hash.match(/../g) ?? []), '01'].join(':');
}

/** Connects the namespaces of a process to the bridge; a partitioned node's device stays down. */
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
    readonly place: NodeLocation;
    readonly network: string;
    readonly holder: number;
    /** The machine's address, which the node finds on its own link. */
    readonly hostAddress: string;
    readonly connected: boolean;
  },
): Promise<void> {
  const { device, address } = place;
  if (!(await hasDevice(deps, device))) await ip(deps, [`link add ${device} type veth peer name eth0 netns ${holder}`]);
  // Also when the device exists: the bridge may have been recreated.
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

/** Sets a node's device up or down; a node without a device is ignored. */
export async function setConnected(
  deps: Deps,
  { device }: Pick<NodeLocation, 'device'>,
  connected: boolean,
): Promise<void> {
  if (await hasDevice(deps, device)) await ip(deps, [`link set ${device} ${connected ? 'up' : 'down'}`]);
}

/** Whether the node's device is up. */
export async function isConnected({ files }: Pick<Deps, 'files'>, { device }: NodeLocation): Promise<boolean> {
  const flags = await files.readText(`/sys/class/net/${device}/flags`).catch(() => '');
  return (Number(flags.trim()) & 1) === 1;
}

/** Removes the device now; the kernel would do so some time after the node's last process has ended. */
export async function disconnectNode(deps: Deps, { device }: Pick<NodeLocation, 'device'>): Promise<void> {
  if (await hasDevice(deps, device)) await deps.exec.run('ip', ['link', 'del', device]);
}

/** Removes bridge and rules; missing ones are no error. */
export async function removeNodeNetwork(deps: Deps, instance: Instance): Promise<void> {
  const bridge = nodeBridge(instance);
  if (await hasDevice(deps, bridge)) await ip(deps, [`link del ${bridge}`]);
  await runNft(deps.exec, removal(instance));
  await removeForwardRules(deps, instance, forwardMatches(instance));
}

const forwardMatches = (instance: Instance): readonly (readonly string[])[] => [
  ['-i', nodeBridge(instance)],
  ['-o', nodeBridge(instance)],
];

const table = ({ nftTable }: Pick<Names, 'nftTable'>): string => `ip ${nftTable}-nodes`;

const removal = (instance: Pick<Names, 'nftTable'>): string =>
  `table ${table(instance)}\ndelete table ${table(instance)}\n`;

/** Masquerades packets of nodes that leave the machine; packets of pods have the node's address by then. */
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
  const inside = holder === undefined ? [] : ['nsenter', '-t', String(holder), '-n', '--'];
  await runOrThrow(exec, [...inside, 'ip', '-batch', '-'], { input: `${lines.join('\n')}\n`, name: 'ip' });
}
