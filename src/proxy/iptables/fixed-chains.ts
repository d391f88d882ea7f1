/** The chains that do not depend on services, and the jumps from the kernel's chains to them. */

/** Destinations that are addresses of this host. */
export const LOCAL = '-m addrtype --dst-type LOCAL';

export const MARK = '0x4000';

/** A pod cannot reply to a loopback address, so packets from one are masqueraded. */
export const FROM_LOOPBACK =
  '-A KUBE-POSTROUTING -s 127.0.0.0/8 ! -o lo -m conntrack --ctstate DNAT -j MASQUERADE --random-fully';

export const FIXED_NAT = [
  'KUBE-SERVICES',
  'KUBE-NODEPORTS',
  'KUBE-HOSTPORTS',
  'KUBE-POSTROUTING',
  'KUBE-MARK-MASQ',
] as const;

export const FIXED_FILTER = [
  'KUBE-SERVICES',
  'KUBE-EXTERNAL-SERVICES',
  'KUBE-NODEPORTS',
  'KUBE-FORWARD',
  'KUBE-PROXY-FIREWALL',
] as const;

/** Chains per service and endpoint, by their first letters. */
export const OWN_CHAIN = /^KUBE-(SVC|SVL|EXT|FW|SEP)-/;

/** The jumps from the kernel's own chains to ours: table, chain, rule. */
export const JUMPS: readonly (readonly [table: string, chain: string, ...rule: string[]])[] = [
  ['nat', 'PREROUTING', '-m', 'comment', '--comment', 'kubernetes service portals', '-j', 'KUBE-SERVICES'],
  ['nat', 'OUTPUT', '-m', 'comment', '--comment', 'kubernetes service portals', '-j', 'KUBE-SERVICES'],
  ['nat', 'POSTROUTING', '-m', 'comment', '--comment', 'kubernetes postrouting rules', '-j', 'KUBE-POSTROUTING'],
  ['filter', 'INPUT', '-m', 'comment', '--comment', 'kubernetes health check service ports', '-j', 'KUBE-NODEPORTS'],
  ['filter', 'INPUT', ...fresh('kubernetes externally-visible service portals', 'KUBE-EXTERNAL-SERVICES')],
  ['filter', 'INPUT', ...fresh('kubernetes load balancer firewall', 'KUBE-PROXY-FIREWALL')],
  ['filter', 'OUTPUT', ...fresh('kubernetes service portals', 'KUBE-SERVICES')],
  ['filter', 'OUTPUT', ...fresh('kubernetes load balancer firewall', 'KUBE-PROXY-FIREWALL')],
  ['filter', 'FORWARD', ...fresh('kubernetes service portals', 'KUBE-SERVICES')],
  ['filter', 'FORWARD', ...fresh('kubernetes externally-visible service portals', 'KUBE-EXTERNAL-SERVICES')],
  ['filter', 'FORWARD', ...fresh('kubernetes load balancer firewall', 'KUBE-PROXY-FIREWALL')],
  ['filter', 'FORWARD', '-m', 'comment', '--comment', 'kubernetes forwarding rules', '-j', 'KUBE-FORWARD'],
];

function fresh(comment: string, target: string): string[] {
  return ['-m', 'conntrack', '--ctstate', 'NEW', '-m', 'comment', '--comment', comment, '-j', target];
}

/** Chains as text for iptables-restore that empties and then removes all of ours. */
export function iptablesRemoval(presentChains: readonly string[]): string {
  const table = (name: string, chains: readonly string[]): string[] => [
    `*${name}`,
    ...chains.map((chain) => `:${chain} - [0:0]`),
    ...chains.map((chain) => `-X ${chain}`),
    'COMMIT',
  ];
  return `${[...table('nat', [...FIXED_NAT, ...presentChains]), ...table('filter', FIXED_FILTER)].join('\n')}\n`;
}
