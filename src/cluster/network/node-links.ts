/** The networks this machine is attached to, and addresses that a route of ours puts on a link: a further node's machine. */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';

/** The routing protocol number of our routes: `ip route` shows `proto 199`. */
export const ROUTE_PROTOCOL = '199';

/** Links by which these nodes may be reached. Routes are read when addresses have changed, or when `again` demands it. */
export type NodeLinks = (nodes: readonly Node[], again: boolean) => Promise<readonly string[]>;

/** Remembers which routes were read last: a program is started for each read. */
export function createNodeLinks({ exec, net }: Pick<Platform, 'exec' | 'net'>, instance: Instance): NodeLinks {
  const ours = [instance.bridge, instance.serviceDevice, instance.tunnelDevice];
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
  const { exitCode, stdout, stderr } = await exec.run('ip', args);
  if (exitCode !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr.trim()}`);
  const routes = JSON.parse(stdout === '' ? '[]' : stdout) as { readonly dst: string; readonly gateway?: string }[];
  return routes
    .filter(({ gateway }) => gateway === undefined)
    .map(({ dst }) => (dst.includes('/') ? dst : `${dst}/32`));
}
