/**
 * On which of this host's addresses node ports answer (`nodePortAddresses`). Pure. Upstream: pkg/proxy/util/
 * nodeport_addresses.go, and the validation of pkg/proxy/apis/config.
 *
 * Differs on purpose: rules match ranges and whether an address is this host's at the moment of the packet, so an address
 * that comes or goes needs no new rules. Nothing said means every address in every mode (upstream's nftables mode: the
 * primary ones). With `primary`, a family in which the node has no address serves none (upstream: all).
 */
import type { Node } from '../api/gen/core-v1.ts';
import { invalidValue } from '../api/field-error.ts';
import type { Net } from '../platform/net.ts';
import { cidrContains, parseCidr, parseIp, type Cidr } from '../base/cidr.ts';
import { disjointRanges } from './service-map.ts';

/** The word for the node's own address of each family. */
const PRIMARY = 'primary';
const FIELD = 'KubeProxyConfiguration.NodePortAddresses';
const LINK_LOCAL = parseCidr('fe80::/10')!;
const LOOPBACK: readonly Cidr[] = ['127.0.0.0/8', '::1/128'].map((text) => parseCidr(text)!);

/** The error of the list, in upstream's words; '' for none. */
export function nodePortAddressesProblem(list: readonly unknown[]): string {
  const problems: string[] = [];
  for (const [at, text] of list.entries()) {
    const complain = (detail: string): void => {
      const field = `${FIELD}[${at}]`;
      problems.push(`${field}: ${invalidValue(field, text, detail).text}`);
    };
    if (text === PRIMARY) {
      if (list.length > 1) complain("can't use both 'primary' and CIDRs");
      break;
    }
    if (typeof text !== 'string' || parseCidr(text) === undefined) complain('must be a valid CIDR');
  }
  return problems.join('; ');
}

/**
 * The ranges of one family whose host addresses serve node ports, without nested ones; undefined: all addresses. A
 * list without a range of the family means all of the family's addresses, as upstream.
 */
export function nodePortRanges(
  list: readonly string[],
  { family, node }: { readonly family: 4 | 6; readonly node: Node | undefined },
): readonly string[] | undefined {
  if (list[0] === PRIMARY) {
    const address = primaryAddress(node, family);
    return address === undefined ? [] : [`${address}/${family === 4 ? 32 : 128}`];
  }
  const ranges = disjointRanges(list, family);
  return ranges.length === 0 ? undefined : ranges;
}

/**
 * The addresses at which programs of this host must listen to serve node ports: all, or the matching ones it has now.
 * `tables`: the results of `nodePortRanges` for each family.
 */
export function nodePortHosts(
  tables: readonly {
    readonly config: { readonly family: 4 | 6 };
    readonly nodePortRanges: readonly string[] | undefined;
  }[],
  net: Pick<Net, 'interfaces'>,
): readonly string[] {
  if (tables.every((table) => table.nodePortRanges === undefined))
    return tables.some(({ config: { family } }) => family === 6) ? ['::'] : ['0.0.0.0'];
  const serves = (address: string): boolean => {
    const ip = parseIp(address);
    // Link-local addresses are useless without their device.
    if (ip === undefined || cidrContains(LINK_LOCAL, ip)) return false;
    return tables.some(
      ({ config: { family }, nodePortRanges: ranges }) =>
        family === ip.family && (ranges?.some((range) => cidrContains(parseCidr(range)!, ip)) ?? true),
    );
  };
  return [...new Set(net.interfaces().map(({ address }) => address))].filter(serves);
}

/** Whether the list includes loopback addresses. */
export function wantsLoopbackNodePorts(list: readonly string[]): boolean {
  return list.some((text) => {
    const range = parseCidr(text);
    return range !== undefined && LOOPBACK.some((loopback) => cidrContains(loopback, { ...range, value: range.base }));
  });
}

/** The node's first address of the family: internal before external ones. */
function primaryAddress(node: Node | undefined, family: 4 | 6): string | undefined {
  const addresses = node?.status?.addresses ?? [];
  return ['InternalIP', 'ExternalIP']
    .flatMap((type) => addresses.filter((a) => a.type === type))
    .map(({ address }) => address)
    .find((address) => {
      const ip = parseIp(address);
      return ip?.family === family && !LOOPBACK.some((range) => cidrContains(range, ip));
    });
}
