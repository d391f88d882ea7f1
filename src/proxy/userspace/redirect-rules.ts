/**
 * The rules of the userspace mode, which redirect service addresses and node ports to portals. Pure text for `nft
 * -f`.
 */
import { removalScript, tableName, type TableConfig } from '../nft-script.ts';
import type { Fronts, PortalPlan } from './portal-plan.ts';

/** The whole table; `portOf`: the port of a portal. Existing connections keep their translation. */
export function redirectRules(config: TableConfig, plan: PortalPlan, portOf: (portal: string) => number): string {
  const ip = config.family === 4 ? 'ip' : 'ip6';
  const refuse = [
    'meta l4proto tcp reject with tcp reset',
    `reject with icmp${ip === 'ip' ? '' : 'v6'} port-unreachable`,
  ];
  return `${removalScript(config)}table ${tableName(config)} {
${sets(config, plan, portOf).join('\n')}
  chain refuse {\n    ${refuse.join('\n    ')}\n  }
${Object.entries(chains(config, plan.nodePortRanges))
  .map(
    ([name, [hook, ...rules]]) =>
      `  chain ${name} {\n    type ${hook}; policy accept;\n    ${rules.join('\n    ')}\n  }`,
  )
  .join('\n')}
}
`;
}

function sets({ family }: TableConfig, plan: PortalPlan, portOf: (portal: string) => number): string[] {
  const address = family === 4 ? 'ipv4_addr' : 'ipv6_addr';
  const port = 'inet_proto . inet_service';
  const elements = (list: Iterable<string>): string => {
    const texts = [...list];
    return texts.length === 0 ? '' : ` elements = { ${texts.join(', ')} }`;
  };
  const portals = (map: ReadonlyMap<string, string>): string =>
    elements([...map].map(([key, portal]) => `${key} : ${portOf(portal)}`));
  const rulesOf = (key: string, prefix: string, fronts: Fronts): string[] => [
    `  map ${prefix}portals { type ${key} : inet_service;${portals(fronts.portals)} }`,
    `  map ${prefix}outside { type ${key} : inet_service;${portals(fronts.outside)} }`,
    `  map ${prefix}unserved { type ${key} : verdict;${elements([...fronts.unserved].map((pair) => pair.join(' : ')))} }`,
    `  set ${prefix}dropped-outside { type ${key};${elements(fronts.droppedOutside)} }`,
  ];
  return [
    ...rulesOf(`${address} . ${port}`, '', plan.addresses),
    ...rulesOf(port, 'node-', plan.nodePorts),
    `  map host-portals { type ${port} : inet_service;${portals(plan.hostPorts)} }`,
    `  map host-address-portals { type ${address} . ${port} : inet_service;${portals(plan.hostAddresses)} }`,
    `  set firewalled { type ${address} . ${port};${elements(plan.firewalled)} }`,
    `  set allowed-sources { type ${address} . ${port} . ${address}; flags interval;${elements(plan.allowedSources)} }`,
  ];
}

/** An anonymous set; without members one that matches no destination, as nft has no empty sets. */
function setOf(ranges: readonly string[], family: 4 | 6): string {
  return `{ ${ranges.length === 0 ? (family === 4 ? '0.0.0.0' : '::') : ranges.join(', ')} }`;
}

/** Base chains: the hook, then the rules. */
function chains(
  { family, clusterCidr, serviceCidr }: TableConfig,
  nodePortRanges: readonly string[] | undefined,
): Record<string, readonly [string, ...string[]]> {
  const ip = family === 4 ? 'ip' : 'ip6';
  const front = `${ip} daddr . meta l4proto . th dport`;
  const local = 'fib daddr type local';
  const ranges = nodePortRanges === undefined ? '' : ` ${ip} daddr ${setOf(nodePortRanges, family)}`;
  const nodePort = `${local}${ranges} meta l4proto . th dport`;
  const toPort = (match: string, protocol: string, map: string): string =>
    `${match} meta l4proto ${protocol} redirect to : meta l4proto . th dport map @${map}`;
  const outside = `${ip} saddr != ${clusterCidr} fib saddr type != local`;
  const redirects = (from: string, maps: string): string[] =>
    ['tcp', 'udp'].flatMap((protocol) => [
      `${from}meta l4proto ${protocol} redirect to : ${front} map @${maps}`,
      toPort(`${from}${local}${ranges}`, protocol, `node-${maps}`),
    ]);
  const everyone = [
    ...redirects('', 'portals'),
    ...['tcp', 'udp'].flatMap((protocol) => [
      // Cluster DNS listens on a local address of the service range, which host ports may not take.
      `${local} ${ip} daddr != ${serviceCidr} meta l4proto ${protocol} redirect to : ${front} map @host-address-portals`,
      toPort(`${local} ${ip} daddr != ${serviceCidr}`, protocol, 'host-portals'),
    ]),
  ];
  // For local clients a redirect goes to the loopback address, and a reply to the client's own address would come
  // from there, which the client does not accept. Datagrams are sent to the address they come from instead.
  const fromHere = everyone.map((rule) => rule.replace('udp redirect to :', `udp dnat to ${ip} saddr :`));
  const check = [
    'ct state != new accept',
    `${ip} daddr ${serviceCidr} fib daddr type local accept`,
    `${front} @firewalled ${front} . ${ip} saddr != @allowed-sources drop`,
    `${front} vmap @unserved`,
    `${nodePort} vmap @node-unserved`,
  ];
  return {
    'nat-prerouting': ['nat hook prerouting priority -100', ...redirects(`${outside} `, 'outside'), ...everyone],
    'nat-output': ['nat hook output priority -100', ...fromHere],
    'check-prerouting': [
      'filter hook prerouting priority -110',
      ...check,
      `${outside} ${front} @dropped-outside drop`,
      `${outside} ${nodePort} @node-dropped-outside drop`,
    ],
    'check-output': ['filter hook output priority -110', ...check],
    // After NAT: packets still addressed to the service range must not leave this machine.
    'check-forward': ['filter hook forward priority -10', `${ip} daddr ${serviceCidr} goto refuse`],
    'check-output-late': [
      'filter hook output priority -90',
      `${ip} daddr ${serviceCidr} fib daddr type != local goto refuse`,
    ],
  };
}
