/** The rules of the userspace mode: service addresses and node ports to ports of this process. Pure text for `nft -f`. */
import type { TableConfig } from '../nft-script.ts';

/** Keys as nftables writes them: `10.43.0.1 . tcp . 80`, `tcp . 30080`; with the local port. */
export interface Redirects {
  readonly addresses: readonly (readonly [key: string, port: number])[];
  readonly nodePorts: readonly (readonly [key: string, port: number])[];
  /** Without endpoints, or not served. */
  readonly refused: readonly string[];
}

function tableName({ family, name }: TableConfig): string {
  return `${family === 4 ? 'ip' : 'ip6'} ${name}`;
}

/** Removes the table; no error when there is none. */
export function redirectRemoval(config: TableConfig): string {
  return `add table ${tableName(config)}\ndelete table ${tableName(config)}\n`;
}

/** The table, whole. Connections there are keep their translation. */
export function redirectRules(config: TableConfig, redirects: Redirects): string {
  const ip = config.family === 4 ? 'ip' : 'ip6';
  const address = config.family === 4 ? 'ipv4_addr' : 'ipv6_addr';
  const elements = (list: readonly string[]): string =>
    list.length === 0 ? '' : ` elements = { ${[...new Set(list)].join(', ')} }`;
  const pairs = (list: readonly (readonly [string, number])[]): string =>
    elements([...new Map(list)].map(([key, port]) => `${key} : ${port}`));
  const front = `${ip} daddr . meta l4proto . th dport`;
  const rules = ['tcp', 'udp'].flatMap((protocol) => [
    `meta l4proto ${protocol} redirect to : ${front} map @portals`,
    `fib daddr type local meta l4proto ${protocol} redirect to : meta l4proto . th dport map @node-portals`,
  ]);
  // From here a redirect leads to the loopback address, and an answer to the client's own address comes from that one,
  // which nobody waits for: datagrams go to the address they come from instead.
  const fromHere = rules.map((rule) => rule.replace('udp redirect to :', `udp dnat to ${ip} saddr :`));
  const refuse = [
    `${front} @refused meta l4proto tcp reject with tcp reset`,
    `${front} @refused reject with icmp${config.family === 4 ? '' : 'v6'} port-unreachable`,
  ];
  const chain = (name: string, hook: string, lines: readonly string[]): string =>
    `  chain ${name} {\n    type ${hook}; policy accept;\n    ${lines.join('\n    ')}\n  }`;
  return `${redirectRemoval(config)}table ${tableName(config)} {
  map portals { type ${address} . inet_proto . inet_service : inet_service;${pairs(redirects.addresses)} }
  map node-portals { type inet_proto . inet_service : inet_service;${pairs(redirects.nodePorts)} }
  set refused { type ${address} . inet_proto . inet_service;${elements(redirects.refused)} }
${chain('nat-prerouting', 'nat hook prerouting priority -100', rules)}
${chain('nat-output', 'nat hook output priority -100', fromHere)}
${chain('check-prerouting', 'filter hook prerouting priority -110', refuse)}
${chain('check-output', 'filter hook output priority -110', refuse)}
${chain('check-forward', 'filter hook forward priority -10', [`${ip} daddr ${config.serviceCidr} reject`])}
}
`;
}
