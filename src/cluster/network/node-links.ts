/**
 * The networks this machine is attached to, and the addresses that a route of Keelson's puts on a link (another node
 * of this machine).
 */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Platform } from '../../platform/platform.ts';
import { runOrThrow } from '../../platform/run-or-throw.ts';
import type { Instance } from '../instance/instance.ts';

/** The routing protocol number of Keelson's routes: `ip route` shows `proto 199`. */
export const ROUTE_PROTOCOL = '199';

/**
 * The links through which the nodes may be reached. Routes are read again when addresses have changed or when `again`
 * is true.
 */
export type NodeLinks = (nodes: readonly Node[], again: boolean) => Promise<readonly string[]>;

/** Caches the routes that were read last, since each read starts a program. */
export function createNodeLinks({ exec, net }: Pick<Platform, 'exec' | 'net'>, instance: Instance): NodeLinks {
  const ours = [instance.bridge, instance.serviceDevice, instance.tunnelDevice, instance.wireguardDevice];
  let known: { readonly addresses: string; readonly routed: readonly string[] } | undefined;
  return async (nodes, again) => {
    const attached = net
      .interfaces()
      .filter(({ internal, name }) => !internal && !ours.includes(name) && !name.startsWith('veth'))
      .map(({ cidr }) => cidr);
    if (nodes.length < 2) return attached;
    const addresses = JSON.stringify([attached, addressesOf(nodes)]);
    if (again || known?.addresses !== addresses) known = { addresses, routed: await readRoutedLinks(exec) };
    return [...attached, ...known.routed];
  };
}

function addressesOf(nodes: readonly Node[]): readonly string[] {
  return nodes.flatMap(({ status }) => (status?.addresses ?? []).map(({ address }) => address)).toSorted();
}

async function readRoutedLinks(exec: Platform['exec']): Promise<readonly string[]> {
  const args = ['-4', '-json', 'route', 'show', 'proto', ROUTE_PROTOCOL, 'scope', 'link'];
  const stdout = await runOrThrow(exec, ['ip', ...args], { name: `ip ${args.join(' ')}` });
  const routes = JSON.parse(stdout === '' ? '[]' : stdout) as { readonly dst: string; readonly gateway?: string }[];
  return routes
    .filter(({ gateway }) => gateway === undefined)
    .map(({ dst }) => (dst.includes('/') ? dst : `${dst}/32`));
}
