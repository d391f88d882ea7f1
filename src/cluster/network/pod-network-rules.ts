/**
 * The nftables table that belongs to the pod network, apart from the service rules: pods that leave the cluster take the
 * node's address, and nothing meant for a service ever leaves the machine. Pure text for `nft -f`.
 */
import type { Instance } from '../instance.ts';

/** Name of the table. */
export function podNetworkTable(instance: Pick<Instance, 'nftTable'>): string {
  return `${instance.nftTable}-pods`;
}

/** Replaces the whole table atomically. */
export function podNetworkRules(instance: Instance): string {
  const family = instance.clusterCidr.includes(':') ? 'ip6' : 'ip';
  const table = `${family} ${podNetworkTable(instance)}`;
  // Whose plugin makes the pods' network also decides how they leave it.
  const leaving =
    instance.cni === 'none'
      ? ''
      : `    ${family} saddr ${instance.clusterCidr} ${family} daddr != ${instance.clusterCidr} oifname != { "${instance.bridge}", "${instance.serviceDevice}" } masquerade`;
  return `table ${table}
delete table ${table}
table ${table} {
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
${leaving}
  }
  chain keep-services-here {
    type filter hook postrouting priority 0; policy accept;
    ${family} daddr ${instance.serviceCidr} oifname != { "${instance.serviceDevice}", "lo" } drop
  }
}
`;
}

/** Removes the table; no error when it is not there. */
export function removePodNetworkRules(instance: Instance): string {
  const table = `${instance.clusterCidr.includes(':') ? 'ip6' : 'ip'} ${podNetworkTable(instance)}`;
  return `table ${table}\ndelete table ${table}\n`;
}
