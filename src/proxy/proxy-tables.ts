/** A rule table for each address family: its services, host ports, and node port addresses. */
import type { Node, Pod } from '../api/gen/core-v1.ts';
import { parseCidr } from '../base/cidr.ts';
import { nodePortAddressElements, type PortSlots } from './desired-rules.ts';
import { hostPortElements, type HostPortView, hostPortViews } from './host-port-rules.ts';
import type { TableConfig } from './nft-script.ts';
import type { RuleTable } from './nftables-applier.ts';
import { nodePortRanges } from './node-port-addresses.ts';
import { RuleBook } from './rule-book.ts';
import type { ServicePortView } from './service-map.ts';
import type { ServiceProxyConfig } from './proxy-config.ts';

export interface ProxyTable extends RuleTable {
  /** As `nodePortRanges` returns it. */
  nodePortRanges: readonly string[] | undefined;
  /** Host ports of this node's pods by pod key. Only for modes that write all rules at once. */
  readonly pods: Map<string, readonly HostPortView[]>;
  readonly config: TableConfig;
  /** Ports and slots by service (key), for this address family. */
  readonly services: Map<
    string,
    { readonly ports: readonly ServicePortView[]; readonly slots: ReadonlyMap<string, PortSlots> }
  >;
}

export function tablesOf(config: ServiceProxyConfig, loopbackHostPorts: boolean): ProxyTable[] {
  const clusterCidrs = config.clusterCidr.split(',');
  return config.serviceCidr.split(',').flatMap((serviceCidr) => {
    const family = parseCidr(serviceCidr)?.family;
    const clusterCidr = clusterCidrs.find((c) => parseCidr(c)?.family === family);
    if (family === undefined || clusterCidr === undefined) return [];
    const nodePortsRestricted =
      nodePortRanges(config.nodePortAddresses ?? [], { family, node: undefined }) !== undefined;
    const mark = (config.masqueradeMark & 0xffff_0000) >>> 0 || 0x4000_0000;
    return [
      {
        config: {
          family,
          name: config.nftTable,
          clusterCidr,
          serviceCidr,
          mark,
          nodePortsRestricted,
          loopbackHostPorts,
          ownTcpPorts: config.ownTcpPorts,
        },
        nodePortRanges: undefined,
        book: new RuleBook(),
        services: new Map(),
        pods: new Map(),
      },
    ];
  });
}

export function updateNodePortRanges(
  tables: readonly ProxyTable[],
  { mode, nodePortAddresses = [] }: ServiceProxyConfig,
  node: Node | undefined,
): void {
  for (const table of tables) {
    // While the node is deleted, until its kubelet registers it again, everything is kept.
    if (node === undefined && table.nodePortRanges !== undefined) continue;
    const ranges = nodePortRanges(nodePortAddresses, { family: table.config.family, node });
    table.nodePortRanges = ranges;
    if (mode === 'nftables') table.book.replace('node', nodePortAddressElements(ranges ?? []));
  }
}

export function updateHostPorts(
  table: ProxyTable,
  { key, pod, incremental }: { key: string; pod: Pod | undefined; incremental: boolean },
): void {
  if (incremental) table.book.replace(`pod ${key}`, pod === undefined ? [] : hostPortElements(pod, table.config));
  else if (pod === undefined) table.pods.delete(key);
  else table.pods.set(key, hostPortViews(pod, table.config));
}
