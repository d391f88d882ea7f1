/**
 * The nftables table that keeps pods of one node from reaching each other by IPv6 addresses that no network assigned:
 * Linux gives each device a link-local address, policies know only the addresses in pod statuses, and a bridge
 * forwards the packets. It also drops router advertisements between pods (CVE-2020-10749). Pure text for `nft -f`.
 */
import { rangeFamily, rangesOf } from '../../base/cidr.ts';
import type { Instance } from '../instance/instance.ts';

type Names = Pick<Instance, 'bridge' | 'nftTable' | 'clusterCidr'>;

const tableName = ({ nftTable }: Pick<Instance, 'nftTable'>): string => `ip6 ${nftTable}-neighbours`;

/** Replaces the table atomically. */
export function neighbourRules(instance: Names): string {
  const { bridge, clusterCidr } = instance;
  const between = `iifname "${bridge}" oifname "${bridge}"`;
  const hasIpv6 = rangesOf(clusterCidr).some((range) => rangeFamily(range) === 6);
  const rules = hasIpv6
    ? [
        // Neighbour discovery between pods, which uses addresses of both kinds.
        `${between} icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept`,
        `${between} icmpv6 type { nd-router-solicit, nd-router-advert, nd-redirect } drop`,
        `${between} ip6 saddr fe80::/10 drop`,
        `${between} ip6 daddr fe80::/10 drop`,
      ]
    : [`${between} drop`];
  return `${removeNeighbourRules(instance)}table ${tableName(instance)} {
  chain between-pods {
    type filter hook forward priority -300; policy accept;
${rules.map((rule) => `    ${rule}\n`).join('')}  }
}
`;
}

/** Removes the table; a missing table is no error. */
export function removeNeighbourRules(instance: Pick<Instance, 'nftTable'>): string {
  return `table ${tableName(instance)}\ndelete table ${tableName(instance)}\n`;
}
