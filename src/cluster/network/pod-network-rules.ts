/**
 * The nftables table of the pod network, apart from the service rules: packets from pods that leave the cluster get
 * the node's address, no packet for a service range leaves the machine, and only this machine sends to or from its
 * loopback addresses, whatever the bridge routes and host ports translate (CVE-2020-8558). Pure text for `nft -f`.
 */
import { rangeFamily, rangesOf } from '../../base/cidr.ts';
import type { Instance } from '../instance/instance.ts';

/** Name of the table. */
function podNetworkTable(instance: Pick<Instance, 'nftTable'>): string {
  return `${instance.nftTable}-pods`;
}

/** Replaces the whole table of each family atomically. */
export function podNetworkRules(instance: Instance): string {
  const services = rangesOf(instance.serviceCidr);
  return rangesOf(instance.clusterCidr)
    .map((clusterCidr, at) => tableOf(instance, { clusterCidr, serviceCidr: services[at] ?? '' }))
    .join('');
}

function tableOf(
  instance: Instance,
  { clusterCidr, serviceCidr }: { readonly clusterCidr: string; readonly serviceCidr: string },
): string {
  const family = familyName(clusterCidr);
  const table = `${family} ${podNetworkTable(instance)}`;
  // The plugin that creates the pods' network also decides how packets leave it.
  const leaving =
    instance.cni === 'none'
      ? ''
      : `    ${family} saddr ${clusterCidr} ${family} daddr != ${clusterCidr} oifname != { "${instance.bridge}", "${instance.serviceDevice}" } masquerade`;
  const guard =
    family === 'ip'
      ? `
  chain guard-loopback {
    type filter hook prerouting priority -300; policy accept;
    iifname != "lo" ip daddr 127.0.0.0/8 drop
    iifname != "lo" ip saddr 127.0.0.0/8 drop
  }`
      : '';
  // Packets that come past the tunnels, with the address of a pod that is not reached that way.
  const onlyTunnelled =
    instance.flannelBackend === 'wireguard-native' && instance.cni !== 'none'
      ? `
  chain only-tunnelled {
    type filter hook prerouting priority -300; policy accept;
    iifname != { "lo", "${instance.bridge}" } ${family} saddr ${clusterCidr} fib saddr . iif oif missing counter drop
  }`
      : '';
  return `table ${table}
delete table ${table}
table ${table} {
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
${leaving}
  }
  chain keep-services-here {
    type filter hook postrouting priority 0; policy accept;
    ${family} daddr ${serviceCidr} oifname != { "${instance.serviceDevice}", "lo" } drop
  }${guard}${onlyTunnelled}
}
`;
}

function familyName(range: string): 'ip' | 'ip6' {
  return rangeFamily(range) === 6 ? 'ip6' : 'ip';
}

/** Removes the tables; missing ones are no error. */
export function removePodNetworkRules(instance: Instance): string {
  return rangesOf(instance.clusterCidr)
    .map((range) => `${familyName(range)} ${podNetworkTable(instance)}`)
    .map((table) => `table ${table}\ndelete table ${table}\n`)
    .join('');
}
